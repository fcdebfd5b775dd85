int part(int (*back)(int), int n);

static int helper(int n)
{
    while (n > 9)
        n = n / 2 + n % 2;
    return n;
}

int part(int (*back)(int), int n)
{
    if (helper(n) == 7)
        return back(n);
    return back(n + 1) + helper(n);
}
