// kind: unreachable
int main(void) {
    volatile int three = 3;
    if (three == 3) {
        __builtin_unreachable(); // HERE
    }
    return 0;
}
