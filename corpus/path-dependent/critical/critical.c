/*
 * critical: two threads compete for a section that only one of them may ever
 * execute, guarded by a home-made protocol: claim it, then look whether the
 * claim still stands.
 *
 * Modelled on `Critical` of the IBM ConTest suite as studied by Cortex (table
 * 5.1: 3 threads, 4 branches, path- and schedule-dependent) and by the MaxSMT
 * paper. The protocol is Fischer's without its delay.
 *
 * Bug: both threads find the section free. The first claims it, finds its
 * claim standing and enters; only then the second overwrites the claim, finds
 * its own claim standing and enters, too. In every run that passes, one of the
 * four branches goes the other way.
 */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>

#define NOBODY 0
#define THREADS 2
#define MAX_SECTIONS 16

struct section {
	atomic_int owner;
	int result; /* written by the one thread that enters */
};

static struct section sections[MAX_SECTIONS];
static atomic_int entered[MAX_SECTIONS];
static int number = 1; /* of sections, one after the other */

static void critical(int i, int id)
{
	int others = atomic_fetch_add(&entered[i], 1);

	assert(others == 0);
	sections[i].result = id;
}

static void compete(int i, int id)
{
	if (sections[i].owner != NOBODY)
		return;
	sections[i].owner = id;
	if (sections[i].owner != id)
		return; /* somebody else was faster */
	critical(i, id);
}

static void *run(void *arg)
{
	int id = *(int *)arg;

	for (int i = 0; i < number; i++)
		compete(i, id);
	return NULL;
}

/* The argument is the number of sections. */
int main(int argc, char **argv)
{
	static int ids[THREADS] = { 1, 2 };
	pthread_t threads[THREADS];

	if (argc > 1)
		number = atoi(argv[1]);
	if (number > MAX_SECTIONS)
		return 2;
	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, run, &ids[i]);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);

	for (int i = 0; i < number; i++)
		assert(sections[i].result != NOBODY);
	return 0;
}
