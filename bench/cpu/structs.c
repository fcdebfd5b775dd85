/* Structs: passed and returned by value, copied, and kept in a list. */
#include <stdio.h>
#include <stdlib.h>

struct vector {
	double x, y, z;
};

struct box {
	struct vector low, high;
	int tag;
};

static struct vector add(struct vector a, struct vector b)
{
	struct vector sum = {a.x + b.x, a.y + b.y, a.z + b.z};
	return sum;
}

static struct vector scale(struct vector a, double by)
{
	struct vector scaled = {a.x * by, a.y * by, a.z * by};
	return scaled;
}

static struct box around(struct box a, struct vector p)
{
	if (p.x < a.low.x)
		a.low.x = p.x;
	if (p.y < a.low.y)
		a.low.y = p.y;
	if (p.x > a.high.x)
		a.high.x = p.x;
	if (p.y > a.high.y)
		a.high.y = p.y;
	a.tag++;
	return a;
}

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 1;
	struct box boxes[16] = {0};
	struct vector at = {0, 0, 0}, step = {0.5, -0.25, 1};
	for (int round = 0; round < rounds; round++)
		for (int i = 0; i < 64; i++) {
			at = add(at, scale(step, 1.0 - (i & 3)));
			boxes[i & 15] = around(boxes[i & 15], at);
			boxes[(i + 1) & 15].tag ^= boxes[i & 15].tag;
		}
	long sum = 0;
	for (int i = 0; i < 16; i++)
		sum = sum * 31 + boxes[i].tag + (long)boxes[i].high.x + (long)boxes[i].low.y;
	printf("%ld\n", sum);
	return 0;
}
