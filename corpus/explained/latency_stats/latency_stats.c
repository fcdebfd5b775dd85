/*
 * latency_stats: request threads add their latency to the statistics, and a monitor looks at
 * the average. No request is faster than 20 ms.
 *
 * Written for this corpus.
 *
 * Bug (torn read): the requests change number and total under a lock, but the monitor reads
 * them without it. Fails when a request is added between the two reads: the old total is
 * divided by the new number.
 */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

#define FASTEST 20

static struct {
	pthread_mutex_t lock;
	atomic_int total;
	atomic_int requests;
} stats = { .lock = PTHREAD_MUTEX_INITIALIZER };

static atomic_int looks;

static void add_request(int latency)
{
	pthread_mutex_lock(&stats.lock);
	stats.total += latency;
	stats.requests++;
	pthread_mutex_unlock(&stats.lock);
}

static int average(void)
{
	int total = stats.total;
	int requests = stats.requests;

	return requests > 0 ? total / requests : FASTEST;
}

static void *request(void *arg)
{
	add_request(FASTEST);
	return arg;
}

static void *monitor(void *arg)
{
	int shown = average();

	looks++;
	assert(shown >= FASTEST);
	return arg;
}

int main(void)
{
	pthread_t threads[3];

	add_request(FASTEST);
	pthread_create(&threads[0], NULL, request, NULL);
	pthread_create(&threads[1], NULL, monitor, NULL);
	pthread_create(&threads[2], NULL, request, NULL);
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	printf("%d requests, %d looks\n", stats.requests, looks);
	return 0;
}
