/* Hashing: a table with open addressing, and a mixing function over bytes. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define SIZE 4096

struct entry {
	uint64_t key;
	uint32_t count;
};

static struct entry table[SIZE];
static unsigned char text[2048];

static uint64_t mix(const unsigned char *bytes, int n)
{
	uint64_t hash = 14695981039346656037u;
	for (int i = 0; i < n; i++) {
		hash ^= bytes[i];
		hash *= 1099511628211u;
		hash ^= hash >> 29;
	}
	return hash;
}

static uint32_t count(uint64_t key)
{
	for (uint64_t at = key % SIZE;; at = (at + 1) % SIZE) {
		if (table[at].count == 0)
			table[at].key = key;
		if (table[at].key == key)
			return ++table[at].count;
	}
}

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 1;
	uint64_t sum = 0;
	for (int i = 0; i < (int)sizeof text; i++)
		text[i] = (unsigned char)(i * 37 + (i >> 3));
	for (int round = 0; round < rounds; round++)
		for (int i = 0; i + 16 < (int)sizeof text; i += 8) {
			text[i] ^= (unsigned char)(round & 7);
			sum = sum * 31 + count(mix(text + i, 12) & 2047);
		}
	printf("%llu\n", (unsigned long long)sum);
	return 0;
}
