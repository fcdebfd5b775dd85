/*
 * The fixed twin of critical.c: one compare-and-swap finds the section free and
 * claims it.
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

	int nobody = NOBODY;

	if (!atomic_compare_exchange_strong(&section.owner, &nobody, id))
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
