/* Tail calls that must be such: between recorded functions, and into code that is not recorded. */
#include <stdio.h>
#include <stdlib.h>

typedef long (*Step)(long, long);

static long even(long n, long sum);

__attribute__((noinline)) static long odd(long n, long sum)
{
    if (n == 0)
        return sum;
    __attribute__((musttail)) return even(n - 1, sum + (n % 3 ? 1 : 2));
}

__attribute__((noinline)) static long even(long n, long sum)
{
    if (n == 0)
        return sum;
    if (sum % 5 == 0)
        sum++;
    __attribute__((musttail)) return odd(n - 1, sum);
}

static long other(long n, long sum)
{
    return n > sum ? n : sum;
}

__attribute__((noinline)) static long through(Step step, long n, long sum);

__attribute__((noinline)) static long dispatch(long n, long sum)
{
    static Step steps[] = {odd, even, other};
    Step step = steps[n % 3];
    if (sum > 100)
        sum -= 100;
    __attribute__((musttail)) return step(n, sum);
}

__attribute__((noinline)) static long through(Step step, long n, long sum)
{
    return step(n, sum) + (n & 1);
}

int main(int argc, char **argv)
{
    int rounds = argc > 1 ? atoi(argv[1]) : 30;
    long sum = 0;
    for (int i = 0; i < rounds; i++) {
        sum += odd(i, sum % 7);
        sum += dispatch(i, sum % 300);
        sum += through(i % 2 ? dispatch : even, i, sum % 11);
    }
    printf("%ld\n", sum);
    return 0;
}
