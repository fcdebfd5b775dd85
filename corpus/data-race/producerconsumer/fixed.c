/*
 * The fixed twin of producerconsumer.c: the queue has a lock.
 */
#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define SLOTS 512
#define PRODUCERS 2

struct queue {
	pthread_mutex_t lock;
	int items[SLOTS];
	int head; /* next to take; only the consumer's */
	int tail; /* next free slot */
};

static struct queue queue = { .lock = PTHREAD_MUTEX_INITIALIZER };
static int consumed;
static int items = 2; /* per producer */
static int polls = 3;

static void produce(struct queue *q, int item)
{
	pthread_mutex_lock(&q->lock);
	int slot = q->tail;
	q->items[slot] = item;
	q->tail = slot + 1;
	pthread_mutex_unlock(&q->lock);
}

static int consume(struct queue *q)
{
	int item = 0; /* nothing there */

	pthread_mutex_lock(&q->lock);
	if (q->head != q->tail)
		item = q->items[q->head++];
	pthread_mutex_unlock(&q->lock);
	return item;
}

static void *producer(void *arg)
{
	(void)arg;
	for (int i = 0; i < items; i++)
		produce(&queue, 1);
	return NULL;
}

static void *consumer(void *arg)
{
	(void)arg;
	for (int i = 0; i < polls; i++)
		consumed += consume(&queue);
	return NULL;
}

/* The arguments are the number of items of each producer, and how often the consumer looks. */
int main(int argc, char **argv)
{
	pthread_t producers[PRODUCERS];
	pthread_t consume_thread;

	if (argc > 2) {
		items = atoi(argv[1]);
		polls = atoi(argv[2]);
	}
	if (PRODUCERS * items > SLOTS)
		return 2;
	for (int i = 0; i < PRODUCERS; i++)
		pthread_create(&producers[i], NULL, producer, NULL);
	pthread_create(&consume_thread, NULL, consumer, NULL);
	for (int i = 0; i < PRODUCERS; i++)
		pthread_join(producers[i], NULL);
	pthread_join(consume_thread, NULL);

	int left = queue.tail - queue.head;
	printf("%d consumed, %d left\n", consumed, left);
	assert(consumed + left == PRODUCERS * items);
	return 0;
}
