/*
 * ringwrap: a producer puts a message, chunk by chunk, into a ring of four slots,
 * a consumer takes the chunks out; the size of the message is input.
 *
 * Ours, for hunting inputs and schedules together; modelled on ring buffers that
 * were never tried with more than fits.
 *
 * Bug (missing test): the producer does not look whether the ring is full. Up to
 * four chunks fit whatever the order; the fifth lands on the first one, and does
 * harm if the consumer has not taken that yet. It takes a message of more than
 * 4 KiB and a consumer that is late.
 */
#include <assert.h>
#include <pthread.h>
#include <stddef.h>

#define SLOTS 4
#define CHUNK 1024 /* bytes per slot */
#define MOST 6     /* chunks */

extern int __VERIFIER_nondet_int(void);

struct ring {
	pthread_mutex_t lock;
	int slots[SLOTS];
	int head; /* chunks put so far */
	int tail; /* chunks taken so far */
};

static struct ring ring = { .lock = PTHREAD_MUTEX_INITIALIZER };
static int chunks;

static int put(int chunk)
{
	pthread_mutex_lock(&ring.lock);
	ring.slots[ring.head % SLOTS] = chunk;
	ring.head++;
	pthread_mutex_unlock(&ring.lock);
	return 1;
}

static void take(void)
{
	pthread_mutex_lock(&ring.lock);
	if (ring.tail < ring.head) {
		int chunk = ring.slots[ring.tail % SLOTS];
		assert(chunk == ring.tail);
		ring.tail++;
	}
	pthread_mutex_unlock(&ring.lock);
}

static void *producer(void *arg)
{
	(void)arg;
	for (int i = 0; i < chunks; i++) {
		if (!put(i))
			break; /* the rest is dropped */
	}
	return NULL;
}

static void *consumer(void *arg)
{
	(void)arg;
	for (int i = 0; i < chunks; i++)
		take();
	return NULL;
}

int main(void)
{
	pthread_t threads[2];

	int bytes = __VERIFIER_nondet_int();
	if (bytes < 0 || bytes > MOST * CHUNK)
		return 0;
	chunks = (bytes + CHUNK - 1) / CHUNK;
	pthread_create(&threads[0], NULL, producer, NULL);
	pthread_create(&threads[1], NULL, consumer, NULL);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
