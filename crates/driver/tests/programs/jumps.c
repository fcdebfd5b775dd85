/* setjmp and longjmp: out of deep recursion, into an outer frame of a recursive function, and many times into the same frame. */
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>

static jmp_buf buffers[16];
static int jumps;

static void dig(int n, int target)
{
    if (n == 0) {
        jumps++;
        longjmp(buffers[target], n + 1);
    }
    dig(n - 1, target);
    jumps += 1000;
}

static int nest(int level, int target)
{
    volatile int seen = 0;
    if (setjmp(buffers[level])) {
        seen++;
        if (seen < 3 && level % 2)
            longjmp(buffers[level], 1);
        return level + seen;
    }
    if (level == 9) {
        dig(level + target, target);
        return -1;
    }
    return nest(level + 1, target) + 1;
}

int main(int argc, char **argv)
{
    int rounds = argc > 1 ? atoi(argv[1]) : 20;
    long sum = 0;
    for (int i = 0; i < rounds; i++)
        sum += nest(0, i % 10);
    printf("%ld %d\n", sum, jumps);
    return 0;
}
