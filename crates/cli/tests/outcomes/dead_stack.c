// kind: dead-stack
static int *escape(int n) {
    int locals[16];
    for (int i = 0; i < 16; i++) locals[i] = n + i;
    int *volatile pointer = locals;
    return pointer + 3;
}
int main(void) {
    int *pointer = escape(4);
    return *pointer; // HERE
}
