/* Two modules with static functions of one name, and calls in both directions. */
#include <stdio.h>

int part(int (*back)(int), int n);

static int helper(int n)
{
    return n % 5 ? n + 1 : n - 1;
}

int shared_name(int n)
{
    return helper(n) > 3 ? helper(n) : 0;
}

int main(void)
{
    int sum = 0;
    for (int i = 0; i < 40; i++)
        sum += part(shared_name, i) + helper(i);
    printf("%d\n", sum);
    return 0;
}
