/*
 * The fixed twin of seqlock.c: the reader looks at the sequence number again and drops
 * a copy during which it changed. The coordinates are atomic, as C11 wants it of what is
 * read while it may be written.
 */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#define ROUNDS 2
#define READERS 2
#define ATTEMPTS 3

static atomic_uint sequence;
static atomic_int x, y; /* y == 2 * x, whenever the sequence number is even */

static void write_position(int to)
{
	sequence++;
	x = to;
	y = 2 * to;
	sequence++;
}

/* Whether a position could be read while none was written, in a few attempts. */
static bool read_position(int *px, int *py)
{
	for (int i = 0; i < ATTEMPTS; i++) {
		unsigned before = sequence;
		*px = x;
		*py = y;
		if (before % 2 == 0 && sequence == before)
			return true;
	}
	return false;
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
