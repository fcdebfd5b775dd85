/*
 * sem_timeout_free: a producer fills a buffer and posts; main waits for it with a limit.
 *
 * Written for this corpus.
 *
 * Bug (order violation): main takes a time-out for the death of the producer and frees
 * the buffer. The producer may only be late: it writes to memory that is free. It has
 * nothing to wait for, so the limit of 100 ms has to pass while it could run.
 * Natively: 0 of 200 runs.
 */
#include <assert.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <time.h>

struct buffer {
	int value;
};

static sem_t filled;

static struct timespec in_ms(long ms)
{
	struct timespec at;

	clock_gettime(CLOCK_REALTIME, &at);
	at.tv_sec += ms / 1000;
	at.tv_nsec += ms % 1000 * 1000000L;
	if (at.tv_nsec >= 1000000000L) {
		at.tv_sec++;
		at.tv_nsec -= 1000000000L;
	}
	return at;
}

static void *produce(void *arg)
{
	struct buffer *buffer = arg;

	buffer->value = 42;
	sem_post(&filled);
	return NULL;
}

int main(void)
{
	struct buffer *buffer = calloc(1, sizeof *buffer);
	struct timespec limit;
	pthread_t producer;

	if (!buffer)
		return 0;
	sem_init(&filled, 0, 0);
	pthread_create(&producer, NULL, produce, buffer);
	limit = in_ms(100);
	if (sem_timedwait(&filled, &limit) == 0)
		assert(buffer->value == 42);
	free(buffer);
	pthread_join(producer, NULL);
	sem_destroy(&filled);
	return 0;
}
