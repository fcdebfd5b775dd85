// kind: inconclusive
// says: syscall
int main(void) {
    long result;
    __asm__ volatile("syscall" : "=a"(result) : "0"(39) : "rcx", "r11", "memory"); // HERE
    return (int)result;
}
