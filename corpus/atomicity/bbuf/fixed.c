/*
 * The fixed twin of bbuf.c: bounded_buf_try_get() tests for an empty buffer and
 * takes the item in one critical section.
 */
#include <assert.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

#define SLOTS 5
#define PRODUCERS 1
#define CONSUMERS 2
#define PUTS 4
#define TRIES 2

typedef struct bounded_buf {
	pthread_mutex_t mutex;
	pthread_cond_t not_full;
	int size;
	int head; /* next item to get */
	int rear; /* next free slot */
	int *buf;
} bounded_buf_t;

static bounded_buf_t buffer;
static int taken[CONSUMERS]; /* what each consumer got, written by itself only */

static void bounded_buf_init(bounded_buf_t *bbuf, int size)
{
	pthread_mutex_init(&bbuf->mutex, NULL);
	pthread_cond_init(&bbuf->not_full, NULL);
	bbuf->size = size;
	bbuf->head = 0;
	bbuf->rear = 0;
	bbuf->buf = calloc(size, sizeof *bbuf->buf);
}

static void bounded_buf_destroy(bounded_buf_t *bbuf)
{
	free(bbuf->buf);
	pthread_cond_destroy(&bbuf->not_full);
	pthread_mutex_destroy(&bbuf->mutex);
}

static void bounded_buf_put(bounded_buf_t *bbuf, int item)
{
	pthread_mutex_lock(&bbuf->mutex);
	while ((bbuf->rear + 1) % bbuf->size == bbuf->head)
		pthread_cond_wait(&bbuf->not_full, &bbuf->mutex);
	bbuf->buf[bbuf->rear] = item;
	bbuf->rear = (bbuf->rear + 1) % bbuf->size;
	pthread_mutex_unlock(&bbuf->mutex);
}

static bool bounded_buf_try_get(bounded_buf_t *bbuf, int *item)
{
	pthread_mutex_lock(&bbuf->mutex);
	bool empty = bbuf->head == bbuf->rear;
	if (!empty) {
		*item = bbuf->buf[bbuf->head];
		bbuf->head = (bbuf->head + 1) % bbuf->size;
		pthread_cond_signal(&bbuf->not_full);
	}
	pthread_mutex_unlock(&bbuf->mutex);
	return !empty;
}

static void *producer(void *arg)
{
	(void)arg;
	for (int i = 1; i <= PUTS; i++)
		bounded_buf_put(&buffer, i);
	return NULL;
}

static void *consumer(void *arg)
{
	int *sum = arg;
	int item;

	for (int i = 0; i < TRIES; i++) {
		if (bounded_buf_try_get(&buffer, &item))
			*sum += item;
	}
	return NULL;
}

int main(void)
{
	pthread_t producers[PRODUCERS];
	pthread_t consumers[CONSUMERS];
	int sum = 0;
	int item;

	bounded_buf_init(&buffer, SLOTS);
	for (int i = 0; i < PRODUCERS; i++)
		pthread_create(&producers[i], NULL, producer, NULL);
	for (int i = 0; i < CONSUMERS; i++)
		pthread_create(&consumers[i], NULL, consumer, &taken[i]);
	for (int i = 0; i < PRODUCERS; i++)
		pthread_join(producers[i], NULL);
	for (int i = 0; i < CONSUMERS; i++) {
		pthread_join(consumers[i], NULL);
		sum += taken[i];
	}

	/* Whatever the consumers missed is still there. */
	while (bounded_buf_try_get(&buffer, &item))
		sum += item;
	assert(sum == PRODUCERS * PUTS * (PUTS + 1) / 2);
	bounded_buf_destroy(&buffer);
	return 0;
}
