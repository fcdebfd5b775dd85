// kind: stack-overflow
static int deep(int n) {
    volatile char pad[1000];
    pad[0] = (char)n;
    return deep(n + 1) + pad[0];
}
int main(void) {
    return deep(0);
}
