// kind: abort
int main(void) {
    __builtin_trap(); // HERE
}
