/*
 * The fixed twin of producerconsumer.c: the queue has a lock.
 */
#include <assert.h>
#include <pthread.h>
#include <stdio.h>

#define SLOTS 8
#define PRODUCERS 2
#define ITEMS 2 /* per producer */
#define POLLS 3

struct queue {
	pthread_mutex_t lock;
	int items[SLOTS];
	int head; /* next to take; only the consumer's */
	int tail; /* next free slot */
};

static struct queue queue = { .lock = PTHREAD_MUTEX_INITIALIZER };
static int consumed;

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
	for (int i = 0; i < ITEMS; i++)
		produce(&queue, 1);
	return NULL;
}

static void *consumer(void *arg)
{
	(void)arg;
	for (int i = 0; i < POLLS; i++)
		consumed += consume(&queue);
	return NULL;
}

int main(void)
{
	pthread_t producers[PRODUCERS];
	pthread_t consume_thread;

	for (int i = 0; i < PRODUCERS; i++)
		pthread_create(&producers[i], NULL, producer, NULL);
	pthread_create(&consume_thread, NULL, consumer, NULL);
	for (int i = 0; i < PRODUCERS; i++)
		pthread_join(producers[i], NULL);
	pthread_join(consume_thread, NULL);

	int left = queue.tail - queue.head;
	printf("%d consumed, %d left\n", consumed, left);
	assert(consumed + left == PRODUCERS * ITEMS);
	return 0;
}
