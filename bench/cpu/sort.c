/* Sorting: quicksort with insertion below, and a heap, through a comparison that is called by its address. */
#include <stdio.h>
#include <stdlib.h>

#define N 4000

static int numbers[N];

static void quicksort(int *a, int n)
{
	while (n > 12) {
		int pivot = a[n / 2], i = 0, j = n - 1;
		while (i <= j) {
			while (a[i] < pivot)
				i++;
			while (a[j] > pivot)
				j--;
			if (i <= j) {
				int t = a[i];
				a[i++] = a[j];
				a[j--] = t;
			}
		}
		quicksort(a, j + 1);
		a += i;
		n -= i;
	}
	for (int i = 1; i < n; i++)
		for (int j = i; j > 0 && a[j - 1] > a[j]; j--) {
			int t = a[j];
			a[j] = a[j - 1];
			a[j - 1] = t;
		}
}

static int less(const int *a, const int *b) { return *a < *b; }

static void sift(int *a, int n, int i, int (*before)(const int *, const int *))
{
	for (int child = 2 * i + 1; child < n; child = 2 * i + 1) {
		if (child + 1 < n && before(&a[child], &a[child + 1]))
			child++;
		if (!before(&a[i], &a[child]))
			return;
		int t = a[i];
		a[i] = a[child];
		a[child] = t;
		i = child;
	}
}

static unsigned fill(unsigned seed)
{
	for (int i = 0; i < N; i++) {
		seed = seed * 1103515245u + 12345u;
		numbers[i] = (int)(seed >> 8);
	}
	return seed;
}

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 1;
	unsigned seed = 1, sum = 0;
	for (int round = 0; round < rounds; round++) {
		seed = fill(seed);
		quicksort(numbers, N);
		sum = sum * 31 + (unsigned)numbers[N / 3];
		seed = fill(seed);
		for (int i = 200 / 2; i-- > 0;)
			sift(numbers, 200, i, less);
		sum = sum * 31 + (unsigned)numbers[0];
	}
	printf("%u\n", sum);
	return 0;
}
