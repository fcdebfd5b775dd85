// kind: inconclusive
// says: bound of 10000 steps
// flags: --max-steps 10000
int main(void) {
    volatile long count = 0;
    for (;;) {
        count++;
    }
}
