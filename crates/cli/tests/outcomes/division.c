// kind: division-by-zero
int main(void) {
    volatile int divisor = 0;
    return 10 / divisor; // HERE
}
