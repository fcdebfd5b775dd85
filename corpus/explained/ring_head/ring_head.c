/*
 * ring_head: a producer and a consumer share a ring buffer without a lock; a monitor looks at
 * how full it is.
 *
 * Written for this corpus.
 *
 * Bug (early publication): the producer moves the head on before it has written the slot.
 * Fails when the consumer sees the new head and reads what was in the slot before.
 */
#include <assert.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>

#define SLOTS 4
#define ITEMS 3

static struct {
	atomic_uint head;
	atomic_uint tail;
	int slots[SLOTS];
} ring;

static atomic_uint highest;

static void put(int item)
{
	unsigned slot = atomic_fetch_add(&ring.head, 1) % SLOTS;

	ring.slots[slot] = item;
}

static int get(void)
{
	unsigned tail = atomic_load(&ring.tail);

	while (atomic_load(&ring.head) == tail)
		sched_yield();
	int item = ring.slots[tail % SLOTS];
	atomic_store(&ring.tail, tail + 1);
	return item;
}

static void *producer(void *arg)
{
	for (int i = 1; i <= ITEMS; i++)
		put(100 * i);
	return arg;
}

static void *consumer(void *arg)
{
	for (int i = 1; i <= ITEMS; i++)
		assert(get() == 100 * i);
	return arg;
}

static void *monitor(void *arg)
{
	unsigned tail = atomic_load(&ring.tail);
	unsigned head = atomic_load(&ring.head);

	atomic_store(&highest, head - tail);
	return arg;
}

int main(void)
{
	void *(*const roles[3])(void *) = { producer, consumer, monitor };
	pthread_t threads[3];

	for (int i = 0; i < 3; i++)
		pthread_create(&threads[i], NULL, roles[i], NULL);
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	printf("up to %u\n", atomic_load(&highest));
	return 0;
}
