/* Loops that count and loops that do not, recursion, a switch, callbacks through the C library, calls that do not return. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static unsigned seed;

static unsigned next(void)
{
    seed = seed * 1103515245u + 12345u;
    return seed >> 16;
}

static int compare(const void *a, const void *b)
{
    int x = *(const int *)a, y = *(const int *)b;
    return x < y ? -1 : x > y;
}

int depth(int n)
{
    if (n <= 0)
        return 1;
    if (next() & 1)
        return depth(n - 1) + 1;
    return depth(n - 2) + depth(n - 3);
}

static long classify(int n)
{
    switch (n % 7) {
    case 0: return 3;
    case 1: return n * 2L;
    case 2: return next();
    case 3: return -n;
    case 5: return classify(n / 2);
    default: return 1;
    }
}

int main(int argc, char **argv)
{
    int n = argc > 1 ? atoi(argv[1]) : 100;
    int *data = malloc(sizeof *data * (size_t)n);
    long sum = 0;
    char text[256] = "";
    seed = (unsigned)n;
    for (int i = 0; i < n; i++)
        data[i] = (int)next() % 1000;
    qsort(data, (size_t)n, sizeof *data, compare);
    for (int i = 1; i < n; i++) {
        if (data[i - 1] > data[i])
            abort();
        sum += classify(data[i]);
    }
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < data[i]; j++)
            sum += (long)i * j;
        if (sum % 3 == 0)
            sum += depth(i % 14);
    }
    while (strlen(text) < 200 && (next() & 63))
        strcat(text, "x");
    printf("%ld %zu\n", sum, strlen(text));
    free(data);
    return 0;
}
