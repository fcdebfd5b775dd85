/* CPU-bound: products of matrices; nearly all time is in counted loops. */
#include <stdio.h>
#include <stdlib.h>

enum { SIZE = 160 };
static double a[SIZE][SIZE], b[SIZE][SIZE], c[SIZE][SIZE];

int main(int argc, char **argv)
{
    int rounds = argc > 1 ? atoi(argv[1]) : 1;
    for (int i = 0; i < SIZE; i++)
        for (int j = 0; j < SIZE; j++) {
            a[i][j] = i % 7 + j;
            b[i][j] = i - j % 5;
        }
    for (int round = 0; round < rounds; round++)
        for (int i = 0; i < SIZE; i++)
            for (int k = 0; k < SIZE; k++)
                for (int j = 0; j < SIZE; j++)
                    c[i][j] += a[i][k] * b[k][j];
    printf("%g\n", c[3][5]);
    return 0;
}
