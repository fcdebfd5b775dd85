/* A shared library that calls back. */
int twice(int (*function)(int), int n);

static int odd(int n)
{
    return n & 1;
}

int twice(int (*function)(int), int n)
{
    int sum = 0;
    for (int i = 0; i < n; i++)
        sum += odd(i) ? function(i) : function(n - i);
    return sum;
}
