/* Recursive, with unpredictable branches in loops. */
#include <stdio.h>
#include <stdlib.h>

static unsigned seed = 1;

static void sort(int *data, long low, long high)
{
    while (low < high) {
        int pivot = data[(low + high) / 2];
        long i = low, j = high;
        while (i <= j) {
            while (data[i] < pivot)
                i++;
            while (data[j] > pivot)
                j--;
            if (i <= j) {
                int t = data[i];
                data[i++] = data[j];
                data[j--] = t;
            }
        }
        if (j - low < high - i) {
            sort(data, low, j);
            low = i;
        } else {
            sort(data, i, high);
            high = j;
        }
    }
}

int main(int argc, char **argv)
{
    int rounds = argc > 1 ? atoi(argv[1]) : 1;
    enum { SIZE = 200000 };
    int *data = malloc(sizeof *data * SIZE);
    long sum = 0;
    for (int round = 0; round < rounds; round++) {
        for (int i = 0; i < SIZE; i++) {
            seed = seed * 1664525u + 1013904223u;
            data[i] = (int)(seed >> 8);
        }
        sort(data, 0, SIZE - 1);
        sum += data[SIZE / 2];
    }
    printf("%ld\n", sum);
    free(data);
    return 0;
}
