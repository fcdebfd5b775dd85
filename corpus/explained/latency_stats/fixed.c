/*
 * The fixed twin of latency_stats.c: the monitor reads both under the lock.
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
	pthread_mutex_lock(&stats.lock);
	int total = stats.total;
	int requests = stats.requests;

	pthread_mutex_unlock(&stats.lock);
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
