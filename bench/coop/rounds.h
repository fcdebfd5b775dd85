/*
 * What all of these programs take: how many rounds (of what, each says), and how much they compute between two accesses to what threads
 * share. Without arguments they are as small as the twins in the corpus that they are made of.
 */
#include <stdlib.h>

static int rounds = 2;
static int work; /* turns of compute() for each access */

/* Values that depend on each other in a way that no compiler shortens: a nanosecond or two a turn. */
static unsigned compute(unsigned value, int accesses)
{
	for (int i = 0; i < accesses * work; i++)
		value = (value ^ value >> 15) * 0x2c1b3c6du;
	return value;
}

static void take_arguments(int argc, char **argv)
{
	if (argc > 1)
		rounds = atoi(argv[1]);
	if (argc > 2)
		work = atoi(argv[2]);
}
