/*
 * hit_stats: seven threads look things up in a cache, and its statistics module counts hits
 * and misses.
 *
 * Written for this corpus.
 *
 * Bug (lost update): misses are counted under the lock, hits are not: "it is only one
 * addition". Fails when two threads read the same number of hits.
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
	if (hit) {
		bump(&stats.hits);
		return;
	}
	pthread_mutex_lock(&stats.lock);
	bump(&stats.misses);
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
