/* The fixed twin of sync/boundedbuffer: rounds are the items of each thread. */
#include <assert.h>
#include <pthread.h>
#include <stdbool.h>
#include "rounds.h"

#define PRODUCERS 2
#define CONSUMERS 2

struct buffer {
	pthread_mutex_t monitor;
	pthread_cond_t changed;
	bool full;
	unsigned item;
};

static struct buffer buffer = {
	.monitor = PTHREAD_MUTEX_INITIALIZER,
	.changed = PTHREAD_COND_INITIALIZER,
};
static unsigned sums[CONSUMERS];

static void enq(unsigned item)
{
	pthread_mutex_lock(&buffer.monitor);
	while (buffer.full)
		pthread_cond_wait(&buffer.changed, &buffer.monitor);
	buffer.item = item;
	buffer.full = true;
	pthread_cond_broadcast(&buffer.changed);
	pthread_mutex_unlock(&buffer.monitor);
}

static unsigned deq(void)
{
	pthread_mutex_lock(&buffer.monitor);
	while (!buffer.full)
		pthread_cond_wait(&buffer.changed, &buffer.monitor);
	unsigned item = buffer.item;
	buffer.full = false;
	pthread_cond_broadcast(&buffer.changed);
	pthread_mutex_unlock(&buffer.monitor);
	return item;
}

static void *producer(void *arg)
{
	unsigned value = 1;

	(void)arg;
	for (int i = 1; i <= rounds; i++) {
		enq((unsigned)i);
		value = compute(value, 7);
	}
	return (void *)(size_t)value;
}

static void *consumer(void *arg)
{
	unsigned *sum = arg, value = 2;

	for (int i = 0; i < rounds; i++) {
		*sum += deq();
		value = compute(value, 7);
	}
	return (void *)(size_t)value;
}

int main(int argc, char **argv)
{
	pthread_t producers[PRODUCERS];
	pthread_t consumers[CONSUMERS];
	unsigned sum = 0, expected = 0;

	take_arguments(argc, argv);
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
	for (int i = 1; i <= rounds; i++)
		expected += PRODUCERS * (unsigned)i;
	assert(sum == expected);
	return 0;
}
