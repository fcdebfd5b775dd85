/*
 * The fixed twin of hit_stats.c: hits are counted under the lock, too.
 */
#include <assert.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>

#define THREADS 7

static struct {
	pthread_mutex_t lock;
	int misses;
	int hits;
} stats = { .lock = PTHREAD_MUTEX_INITIALIZER };

static void bump(int *counter)
{
	int value = *counter;
	*counter = value + 1;
}

static void record(bool hit)
{
	pthread_mutex_lock(&stats.lock);
	bump(hit ? &stats.hits : &stats.misses);
	pthread_mutex_unlock(&stats.lock);
}

static void *reader(void *arg)
{
	int id = *(int *)arg;

	record(false);
	if (id % 2 == 0)
		record(true);
	return NULL;
}

int main(void)
{
	static int ids[THREADS];
	pthread_t threads[THREADS];

	for (int i = 0; i < THREADS; i++) {
		ids[i] = i;
		pthread_create(&threads[i], NULL, reader, &ids[i]);
	}
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	printf("%d hits, %d misses\n", stats.hits, stats.misses);
	assert(stats.misses == THREADS);
	assert(stats.hits == (THREADS + 1) / 2);
	return 0;
}
