/*
 * pivot_barrier: four workers count how many of their numbers lie below a pivot, which the
 * first of them chooses; a barrier divides the two phases.
 *
 * Written for this corpus.
 *
 * Bug (use before it is there): the pivot is chosen after the barrier, not before. Fails when
 * another worker reads it first.
 */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

#define WORKERS 4
#define EACH 2

static const int numbers[WORKERS * EACH] = { 5, 8, 1, 9, 2, 7, 3, 6 };
static pthread_barrier_t phase;
static int pivot;

static pthread_mutex_t below_lock = PTHREAD_MUTEX_INITIALIZER;
static int below;
static atomic_int arrived;

static void choose_pivot(void)
{
	pivot = numbers[0];
}

static void count(int first)
{
	int mine = 0;
	int limit = pivot;

	for (int i = first; i < first + EACH; i++)
		mine += numbers[i] < limit;
	pthread_mutex_lock(&below_lock);
	below += mine;
	pthread_mutex_unlock(&below_lock);
}

static void *worker(void *arg)
{
	int id = *(int *)arg;

	atomic_fetch_add(&arrived, 1);
	pthread_barrier_wait(&phase);
	if (id == 0)
		choose_pivot();
	count(id * EACH);
	return NULL;
}

int main(void)
{
	static int ids[WORKERS];
	pthread_t threads[WORKERS];

	pthread_barrier_init(&phase, NULL, WORKERS);
	for (int i = 0; i < WORKERS; i++) {
		ids[i] = i;
		pthread_create(&threads[i], NULL, worker, &ids[i]);
	}
	for (int i = 0; i < WORKERS; i++)
		pthread_join(threads[i], NULL);
	pthread_barrier_destroy(&phase);
	printf("%d arrived\n", atomic_load(&arrived));
	assert(below == 3);
	return 0;
}
