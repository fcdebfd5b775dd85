/*
 * The fixed twin of data-race/producerconsumer: rounds are the items of each producer, and half of the consumer's looks. The queue is a ring: an
 * item for which there is no room is thrown away, and counted.
 */
#include <assert.h>
#include <pthread.h>
#include "rounds.h"

#define SLOTS 512
#define PRODUCERS 2

struct queue {
	pthread_mutex_t lock;
	int items[SLOTS];
	int head; /* next to take */
	int tail; /* next free slot */
};

static struct queue queue = { .lock = PTHREAD_MUTEX_INITIALIZER };
static int consumed;
static int refused[PRODUCERS];

static int produce(struct queue *q, int item)
{
	int room;

	pthread_mutex_lock(&q->lock);
	int slot = q->tail;
	room = slot - q->head < SLOTS;
	if (room) {
		q->items[slot % SLOTS] = item;
		q->tail = slot + 1;
	}
	pthread_mutex_unlock(&q->lock);
	return room;
}

static int consume(struct queue *q)
{
	int item = 0; /* nothing there */

	pthread_mutex_lock(&q->lock);
	if (q->head != q->tail)
		item = q->items[q->head++ % SLOTS];
	pthread_mutex_unlock(&q->lock);
	return item;
}

static void *producer(void *arg)
{
	int *lost = arg;
	unsigned value = 1;

	for (int i = 0; i < rounds; i++) {
		if (!produce(&queue, 1))
			*lost = *lost + 1;
		value = compute(value, 5);
	}
	return (void *)(size_t)value;
}

static void *consumer(void *arg)
{
	unsigned value = 2;

	(void)arg;
	for (int i = 0; i < PRODUCERS * rounds; i++) {
		consumed += consume(&queue);
		value = compute(value, 6);
	}
	return (void *)(size_t)value;
}

int main(int argc, char **argv)
{
	pthread_t producers[PRODUCERS];
	pthread_t consume_thread;
	int sorry = 0;

	take_arguments(argc, argv);
	for (int i = 0; i < PRODUCERS; i++)
		pthread_create(&producers[i], NULL, producer, &refused[i]);
	pthread_create(&consume_thread, NULL, consumer, NULL);
	for (int i = 0; i < PRODUCERS; i++) {
		pthread_join(producers[i], NULL);
		sorry += refused[i];
	}
	pthread_join(consume_thread, NULL);
	assert(consumed + queue.tail - queue.head + sorry == PRODUCERS * rounds);
	return 0;
}
