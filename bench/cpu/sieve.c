/* Bytes of an array: a sieve of primes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LIMIT 20000

static char composite[LIMIT];

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 1;
	unsigned primes = 0;
	for (int round = 0; round < rounds; round++) {
		memset(composite, 0, sizeof composite);
		for (int i = 2; i < LIMIT; i++) {
			if (composite[i])
				continue;
			primes++;
			for (int j = i + i; j < LIMIT; j += i)
				composite[j] = 1;
		}
	}
	printf("%u\n", primes);
	return 0;
}
