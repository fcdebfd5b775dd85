/*
 * What all of these programs take: how many rounds (of what, each says), and how much they compute between two accesses to what threads
 * share: so that they can have as many accesses in a second as the paper's programs had. Without arguments they are as small as the twins in the
 * corpus that they are made of. Those are not used themselves: their lines stand in blessed reports, what they are given says how much is
 * shared (classes, threads) and has a limit, and where it is too much for one run (Deadlock, Tomcat) nothing is repeated; here a
 * round is repeated as often as a second takes, sums are unsigned as they wrap around, and results are used, or the optimiser would leave
 * out what is computed.
 */
#include <stdlib.h>

static int rounds = 2;
static long work; /* turns of compute() for each access */

/* Values that depend on each other in a way that no compiler shortens: a nanosecond or two a turn. */
static unsigned compute(unsigned value, int accesses)
{
	for (long i = 0; i < accesses * work; i++)
		value = (value ^ value >> 15) * 0x2c1b3c6du;
	return value;
}

static void take_arguments(int argc, char **argv)
{
	if (argc > 1)
		rounds = atoi(argv[1]);
	if (argc > 2)
		work = atol(argv[2]);
}
