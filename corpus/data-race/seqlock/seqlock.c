/*
 * seqlock: a position of two coordinates, written by one thread and read by two
 * without a lock. A sequence number is odd while the position is being written.
 *
 * Modelled on the sequence locks of the Linux kernel.
 *
 * Bug (data race): the reader looks at the sequence number before it copies the
 * position, but not again afterwards, so it does not notice that the position was
 * written meanwhile. Fails when a reader sees an even number and then one of the
 * stores of x and y falls between its two reads, or both reads between the two stores.
 */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#define ROUNDS 2
#define READERS 2

static atomic_uint sequence;
static int x, y; /* y == 2 * x, whenever the sequence number is even */

static void write_position(int to)
{
	sequence++;
	x = to;
	y = 2 * to;
	sequence++;
}

/* Whether there is a position to read just now. */
static bool read_position(int *px, int *py)
{
	unsigned before = sequence;

	if (before % 2 == 1)
		return false;
	*px = x;
	*py = y;
	return true;
}

static void *writer(void *arg)
{
	(void)arg;
	for (int i = 1; i <= ROUNDS; i++)
		write_position(i);
	return NULL;
}

static void *reader(void *arg)
{
	int px, py;

	(void)arg;
	if (read_position(&px, &py))
		assert(py == 2 * px);
	return NULL;
}

int main(void)
{
	pthread_t writing, reading[READERS];

	pthread_create(&writing, NULL, writer, NULL);
	for (int i = 0; i < READERS; i++)
		pthread_create(&reading[i], NULL, reader, NULL);
	pthread_join(writing, NULL);
	for (int i = 0; i < READERS; i++)
		pthread_join(reading[i], NULL);
	return 0;
}
