/*
 * The fixed twin of sem_timeout_free.c: whatever the wait says, the buffer is freed once
 * the producer has ended.
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
	int in_time = sem_timedwait(&filled, &limit) == 0;
	pthread_join(producer, NULL);
	assert(!in_time || buffer->value == 42);
	free(buffer);
	sem_destroy(&filled);
	return 0;
}
