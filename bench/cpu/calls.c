/* Calls: recursion with two calls a round, and a chain of small functions. */
#include <stdio.h>
#include <stdlib.h>

static unsigned fib(unsigned n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }

static int add(int a, int b) { return a + b; }
static int twice(int a) { return add(a, a); }
static int thrice(int a) { return add(twice(a), a); }

static unsigned ackermann(unsigned m, unsigned n)
{
	if (m == 0)
		return n + 1;
	return n == 0 ? ackermann(m - 1, 1) : ackermann(m - 1, ackermann(m, n - 1));
}

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 1;
	unsigned sum = 0;
	for (int round = 0; round < rounds; round++) {
		sum = sum * 31 + fib(16);
		for (int i = 0; i < 500; i++)
			sum += thrice(i ^ (int)sum);
		sum += ackermann(2, 20);
	}
	printf("%u\n", sum);
	return 0;
}
