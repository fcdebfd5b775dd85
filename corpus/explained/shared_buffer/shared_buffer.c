/*
 * shared_buffer: three threads read a buffer of a table; the last one that releases it frees
 * its memory.
 *
 * Written for this corpus.
 *
 * Bug (double free): the reference count is atomic, but it is decreased by one operation and
 * tested by another. Fails when two threads have decreased it before either tests: both find
 * it to be 0.
 */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#define READERS 3
#define BUFFERS 2

struct buffer {
	atomic_int refs;
	char *data;
};

static struct buffer buffers[BUFFERS];

static pthread_mutex_t sum_lock = PTHREAD_MUTEX_INITIALIZER;
static int sum;

static void fill(struct buffer *b, char byte)
{
	b->data = malloc(2);
	b->data[0] = byte;
	b->data[1] = 0;
	atomic_store(&b->refs, READERS);
}

static void release(struct buffer *b)
{
	atomic_fetch_sub(&b->refs, 1);
	if (atomic_load(&b->refs) == 0)
		free(b->data);
}

static void *reader(void *arg)
{
	struct buffer *b = arg;

	pthread_mutex_lock(&sum_lock);
	sum += b->data[0];
	pthread_mutex_unlock(&sum_lock);
	release(b);
	return NULL;
}

int main(void)
{
	pthread_t threads[READERS];

	for (int i = 0; i < BUFFERS; i++)
		fill(&buffers[i], 5 + i);
	for (int i = 0; i < READERS; i++)
		pthread_create(&threads[i], NULL, reader, &buffers[1]);
	for (int i = 0; i < READERS; i++)
		pthread_join(threads[i], NULL);
	assert(sum == READERS * 6);
	free(buffers[0].data);
	return 0;
}
