// kind: out-of-bounds
// says: read of 4 bytes
static int before = 1, table[5] = { 1, 2, 3, 4, 5 }, after = 2;
int main(void) {
    volatile int index = 5;
    return before + table[index] + after; // HERE
}
