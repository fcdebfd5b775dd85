/*
 * The fixed twin of critical.c: one compare-and-swap finds the section free and
 * claims it.
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
	int nobody = NOBODY;

	if (!atomic_compare_exchange_strong(&sections[i].owner, &nobody, id))
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
