/*
 * The fixed twin of boundedbuffer.c: every change wakes all waiters, who test
 * their own condition again.
 */
#include <assert.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

#define PRODUCERS 2
#define CONSUMERS 2

struct buffer {
	pthread_mutex_t monitor;
	pthread_cond_t changed;
	bool full;
	int item;
};

static struct buffer buffer = {
	.monitor = PTHREAD_MUTEX_INITIALIZER,
	.changed = PTHREAD_COND_INITIALIZER,
};
static int sums[CONSUMERS];
static int items = 2; /* per thread */

static void enq(int item)
{
	pthread_mutex_lock(&buffer.monitor);
	while (buffer.full)
		pthread_cond_wait(&buffer.changed, &buffer.monitor);
	buffer.item = item;
	buffer.full = true;
	pthread_cond_broadcast(&buffer.changed);
	pthread_mutex_unlock(&buffer.monitor);
}

static int deq(void)
{
	pthread_mutex_lock(&buffer.monitor);
	while (!buffer.full)
		pthread_cond_wait(&buffer.changed, &buffer.monitor);
	int item = buffer.item;
	buffer.full = false;
	pthread_cond_broadcast(&buffer.changed);
	pthread_mutex_unlock(&buffer.monitor);
	return item;
}

static void *producer(void *arg)
{
	(void)arg;
	for (int i = 1; i <= items; i++)
		enq(i);
	return NULL;
}

static void *consumer(void *arg)
{
	int *sum = arg;

	for (int i = 0; i < items; i++)
		*sum += deq();
	return NULL;
}

/* The argument is the number of items of each thread. */
int main(int argc, char **argv)
{
	pthread_t producers[PRODUCERS];
	pthread_t consumers[CONSUMERS];
	int sum = 0;

	if (argc > 1)
		items = atoi(argv[1]);
	for (int i = 0; i < CONSUMERS; i++)
		pthread_create(&consumers[i], NULL, consumer, &sums[i]);
	for (int i = 0; i < PRODUCERS; i++)
		pthread_create(&producers[i], NULL, producer, NULL);
	for (int i = 0; i < PRODUCERS; i++)
		pthread_join(producers[i], NULL);
	for (int i = 0; i < CONSUMERS; i++) {
		pthread_join(consumers[i], NULL);
		sum += sums[i];
	}

	assert(sum == PRODUCERS * items * (items + 1) / 2);
	return 0;
}
