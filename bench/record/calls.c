/* Recursive: hardly anything but calls. */
#include <stdio.h>
#include <stdlib.h>

static int fibonacci(int n)
{
    if (n < 2)
        return n;
    return fibonacci(n - 1) + fibonacci(n - 2);
}

static int ackermann(int m, int n)
{
    if (m == 0)
        return n + 1;
    if (n == 0)
        return ackermann(m - 1, 1);
    return ackermann(m - 1, ackermann(m, n - 1));
}

int main(int argc, char **argv)
{
    int rounds = argc > 1 ? atoi(argv[1]) : 1;
    long sum = 0;
    for (int i = 0; i < rounds; i++)
        sum += fibonacci(24 + i % 3) + ackermann(2, 60 + i % 5);
    printf("%ld\n", sum);
    return 0;
}
