/*
 * The fixed twin of shared_buffer.c: the operation that decreases the count says what it was.
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
	if (atomic_fetch_sub(&b->refs, 1) == 1)
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
