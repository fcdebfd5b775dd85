/*
 * producerconsumer: producers append to a queue, a consumer takes what it
 * finds, main counts what is left.
 *
 * Modelled on `ProducerConsumer` of the IBM ConTest suite as studied by
 * CoopREP (table 3.2, "data race").
 *
 * Bug (data race): appending stores the item and then advances `tail`, both
 * without a lock. Two producers store to the same slot, or one of them
 * overwrites the other's `tail`: an item is lost.
 */
#include <assert.h>
#include <pthread.h>
#include <stdio.h>

#define SLOTS 8
#define PRODUCERS 2
#define ITEMS 2 /* per producer */
#define POLLS 3

struct queue {
	int items[SLOTS];
	int head; /* next to take; only the consumer's */
	int tail; /* next free slot */
};

static struct queue queue;
static int consumed;

static void produce(struct queue *q, int item)
{
	int slot = q->tail;

	q->items[slot] = item;
	q->tail = slot + 1;
}

static int consume(struct queue *q)
{
	if (q->head == q->tail)
		return 0; /* nothing there */
	return q->items[q->head++];
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
