/* Calls that go deep, call each other, pass structs, and are left by a jump. */
#include <setjmp.h>
#include <stdio.h>
#include <string.h>

struct five {
	long a[5];
};

static jmp_buf home;
static int count;

static long down(long n, struct five s)
{
	s.a[n % 5] += n;
	if (n == 0)
		return s.a[0] + s.a[3];
	long below = down(n - 1, s);
	return (below * 3 + s.a[1]) & 0xffffffffff;
}

static int even(int n);

static int odd(int n)
{
	return n == 0 ? 0 : even(n - 1);
}

static int even(int n)
{
	return n == 0 ? 1 : odd(n - 1);
}

static int inner(int n)
{
	int thrice = n * 3;
	if (n > 6)
		longjmp(home, thrice);
	return thrice + inner(n + 1);
}

static int outer(int n)
{
	char bytes[40];
	int next = n + 1;
	memset(bytes, n, sizeof bytes);
	return inner(n) + next + bytes[3];
}

int main(void)
{
	struct five s = {{1, 2, 3, 4, 5}};
	printf("%ld\n", down(10000, s));
	int evens = 0;
	for (int i = 0; i < 300; i++)
		evens += even(i * 7);
	printf("%d\n", evens);
	volatile int sum = 0;
	for (volatile int i = 0; i < 50; i++) {
		int came = setjmp(home);
		if (came == 0)
			sum += outer(i % 9);
		else
			sum += came;
		count++;
	}
	printf("%d %d\n", sum, count);
	return 0;
}
