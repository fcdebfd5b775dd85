/* Of the CPU-bound programs of `cargo xtask bench vm` the mixed one: no threads, no library calls in the loops, a mix of
 * what ordinary C does: integer arithmetic, array sweeps, branches that depend on data, small calls and
 * recursion. The argument says how many rounds; the output is a checksum, the same natively and in the
 * machine. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define CELLS 1024

static uint32_t cells[CELLS];

struct point {
	int x, y;
};

static uint32_t next_random(uint32_t state)
{
	state ^= state << 13;
	state ^= state >> 17;
	state ^= state << 5;
	return state;
}

static int distance(const struct point *a, const struct point *b)
{
	int dx = a->x - b->x, dy = a->y - b->y;
	return (dx < 0 ? -dx : dx) + (dy < 0 ? -dy : dy);
}

static unsigned fib(unsigned n)
{
	return n < 2 ? n : fib(n - 1) + fib(n - 2);
}

/* Fills the array, sweeps over it, and counts what is above its neighbours. */
static unsigned sweep(uint32_t seed)
{
	for (int i = 0; i < CELLS; i++) {
		seed = next_random(seed);
		cells[i] = seed % 1000;
	}
	for (int pass = 0; pass < 4; pass++)
		for (int i = 1; i + 1 < CELLS; i++)
			cells[i] = (cells[i - 1] + 2 * cells[i] + cells[i + 1]) / 4;
	unsigned peaks = 0;
	for (int i = 1; i + 1 < CELLS; i++)
		if (cells[i] > cells[i - 1] && cells[i] >= cells[i + 1])
			peaks++;
	return peaks;
}

/* A walk over a grid through pointers to structs. */
static int walk(uint32_t seed, int steps)
{
	struct point here = {0, 0}, home = {0, 0};
	int farthest = 0;
	for (int i = 0; i < steps; i++) {
		seed = next_random(seed);
		switch (seed & 3) {
		case 0: here.x++; break;
		case 1: here.x--; break;
		case 2: here.y++; break;
		default: here.y--; break;
		}
		int d = distance(&here, &home);
		if (d > farthest)
			farthest = d;
	}
	return farthest;
}

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 1;
	uint64_t checksum = 0;
	for (int round = 0; round < rounds; round++) {
		checksum = checksum * 31 + sweep(round + 1);
		checksum = checksum * 31 + walk(round + 7, 1000);
		checksum = checksum * 31 + fib(14);
	}
	printf("%llu\n", (unsigned long long)checksum);
	return 0;
}
