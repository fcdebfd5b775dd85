/* A product of matrices on the heap: loads, and one store for many of them. */
#include <stdio.h>
#include <stdlib.h>

#define N 48

static void multiply(const int *a, const int *b, int *c)
{
	for (int i = 0; i < N; i++)
		for (int j = 0; j < N; j++) {
			int sum = 0;
			for (int k = 0; k < N; k++)
				sum += a[i * N + k] * b[k * N + j];
			c[i * N + j] = sum;
		}
}

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 1;
	int *a = malloc(sizeof(int) * N * N), *b = malloc(sizeof(int) * N * N), *c = malloc(sizeof(int) * N * N);
	for (int i = 0; i < N * N; i++) {
		a[i] = i % 7;
		b[i] = i % 5;
		c[i] = 0;
	}
	for (int round = 0; round < rounds; round++) {
		multiply(a, b, c);
		a[round % (N * N)] = c[(round * 17) % (N * N)] & 15;
	}
	unsigned sum = 0;
	for (int i = 0; i < N * N; i++)
		sum = sum * 31 + (unsigned)c[i];
	printf("%u\n", sum);
	free(a);
	free(b);
	free(c);
	return 0;
}
