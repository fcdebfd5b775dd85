/*
 * join_all_but_one: workers add up a part of an array each, and main shows the sum.
 *
 * Written for this corpus.
 *
 * Bug (missing join): the loop that joins the workers begins at 1. Fails when main reads the
 * total before the first worker has added its part.
 */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

#define WORKERS 4
#define PART 2

static const int numbers[WORKERS * PART] = { 3, 1, 4, 1, 5, 9, 2, 6 };
static atomic_int started;

static struct {
	pthread_mutex_t lock;
	int total;
} sum = { .lock = PTHREAD_MUTEX_INITIALIZER };

static void add(int part)
{
	pthread_mutex_lock(&sum.lock);
	sum.total += part;
	pthread_mutex_unlock(&sum.lock);
}

static void *worker(void *arg)
{
	const int *mine = arg;
	int part = 0;

	atomic_fetch_add(&started, 1);
	for (int i = 0; i < PART; i++)
		part += mine[i];
	add(part);
	return NULL;
}

static int result(void)
{
	pthread_mutex_lock(&sum.lock);
	int total = sum.total;
	pthread_mutex_unlock(&sum.lock);
	return total;
}

int main(void)
{
	pthread_t threads[WORKERS];

	for (int i = 0; i < WORKERS; i++)
		pthread_create(&threads[i], NULL, worker, (void *)&numbers[i * PART]);
	for (int i = 1; i < WORKERS; i++)
		pthread_join(threads[i], NULL);

	int total = result();
	printf("%d workers started\n", atomic_load(&started));
	assert(total == 31);
	return 0;
}
