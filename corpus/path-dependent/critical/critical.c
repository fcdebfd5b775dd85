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

#define NOBODY 0
#define THREADS 2

struct section {
	atomic_int owner;
	int result; /* written by the one thread that enters */
};

static struct section section = { NOBODY, 0 };
static atomic_int entered;

static void critical(int id)
{
	int others = atomic_fetch_add(&entered, 1);

	assert(others == 0);
	section.result = id;
}

static void *run(void *arg)
{
	int id = *(int *)arg;

	if (section.owner != NOBODY)
		return NULL;
	section.owner = id;
	if (section.owner != id)
		return NULL; /* somebody else was faster */
	critical(id);
	return NULL;
}

int main(void)
{
	static int ids[THREADS] = { 1, 2 };
	pthread_t threads[THREADS];

	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, run, &ids[i]);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);

	assert(section.result != NOBODY);
	return 0;
}
