// kind: division-by-zero
int main(void) {
    volatile unsigned long divisor = 0;
    return (int)(10 % divisor); // HERE
}
