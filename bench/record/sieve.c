/* CPU-bound: primes below n, again and again. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv)
{
    int rounds = argc > 1 ? atoi(argv[1]) : 1;
    enum { SIZE = 2000000 };
    char *composite = malloc(SIZE);
    long count = 0;
    for (int round = 0; round < rounds; round++) {
        memset(composite, 0, SIZE);
        for (int i = 2; i < SIZE; i++) {
            if (composite[i])
                continue;
            count++;
            for (long j = (long)i * i; j < SIZE; j += i)
                composite[j] = 1;
        }
    }
    printf("%ld\n", count);
    free(composite);
    return 0;
}
