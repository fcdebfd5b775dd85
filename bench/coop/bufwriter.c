/* The fixed twin of data-race/bufwriter: rounds are the characters of each writer, and the checker's looks. */
#include <assert.h>
#include <pthread.h>
#include "rounds.h"

#define SIZE 32768
#define WRITERS 3

struct buffer {
	pthread_mutex_t lock;
	int pos;   /* characters in the buffer */
	int count; /* characters ever written */
};

static struct buffer buff = { .lock = PTHREAD_MUTEX_INITIALIZER };
static int written_count; /* what the checker took out */

static void append(struct buffer *b)
{
	if (b->pos < SIZE) {
		b->pos = b->pos + 1;
		b->count = b->count + 1;
	}
}

static void *SyncWriter(void *arg)
{
	unsigned value = 1;

	(void)arg;
	for (int i = 0; i < rounds; i++) {
		pthread_mutex_lock(&buff.lock);
		append(&buff);
		pthread_mutex_unlock(&buff.lock);
		value = compute(value, 6);
	}
	return (void *)(size_t)value;
}

static void *Checker(void *arg)
{
	unsigned value = 2;

	(void)arg;
	for (int i = 0; i < rounds; i++) {
		pthread_mutex_lock(&buff.lock);
		written_count = buff.pos + written_count;
		buff.pos = 0;
		pthread_mutex_unlock(&buff.lock);
		value = compute(value, 3);
	}
	return (void *)(size_t)value;
}

int main(int argc, char **argv)
{
	pthread_t checker, writers[WRITERS];

	take_arguments(argc, argv);
	pthread_create(&checker, NULL, Checker, NULL);
	for (int i = 0; i < WRITERS; i++)
		pthread_create(&writers[i], NULL, SyncWriter, NULL);
	for (int i = 0; i < WRITERS; i++)
		pthread_join(writers[i], NULL);
	pthread_join(checker, NULL);
	assert(buff.count == buff.pos + written_count);
	return 0;
}
