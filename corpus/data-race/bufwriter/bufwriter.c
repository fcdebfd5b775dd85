/*
 * bufwriter: writers append to a shared buffer, a checker takes out what is
 * there now and then, and main compares what was written with what was found.
 *
 * Modelled on `BufWriter` (CoopREP: BufferWriter) of the IBM ConTest suite, as
 * studied by CoopREP (table 3.2, "wrong/no lock"), Cortex (table 5.1, five
 * threads) and the MaxSMT paper: SyncWriter locks the buffer, Writer forgets
 * to. As in the traces that Cortex' authors published, the characters
 * themselves do not matter: only how many there are is looked at.
 *
 * Bug (data race): position and count are read and written back by all
 * writers, but one of them does not hold the lock. An update is lost, and what
 * was counted is not what was found.
 */
#include <assert.h>
#include <pthread.h>
#include <stdlib.h>

#define SIZE 32768
#define SYNC_WRITERS 2
#define WRITERS (SYNC_WRITERS + 1)

struct buffer {
	pthread_mutex_t lock;
	int pos;   /* characters in the buffer */
	int count; /* characters ever written */
};

static struct buffer buff = { .lock = PTHREAD_MUTEX_INITIALIZER };
static int written_count; /* what the checker took out */
static int chars = 2;     /* per writer */

static void append(struct buffer *b)
{
	if (b->pos < SIZE) {
		b->pos = b->pos + 1;
		b->count = b->count + 1;
	}
}

static void *SyncWriter(void *arg)
{
	(void)arg;
	for (int i = 0; i < chars; i++) {
		pthread_mutex_lock(&buff.lock);
		append(&buff);
		pthread_mutex_unlock(&buff.lock);
	}
	return NULL;
}

static void *Writer(void *arg)
{
	(void)arg;
	for (int i = 0; i < chars; i++)
		append(&buff);
	return NULL;
}

static void *Checker(void *arg)
{
	(void)arg;
	for (int i = 0; i < chars; i++) {
		pthread_mutex_lock(&buff.lock);
		written_count = buff.pos + written_count;
		buff.pos = 0;
		pthread_mutex_unlock(&buff.lock);
	}
	return NULL;
}

/* The argument is the number of characters per writer, and of the checker's looks. */
int main(int argc, char **argv)
{
	pthread_t checker, writers[WRITERS];

	if (argc > 1)
		chars = atoi(argv[1]);
	pthread_create(&checker, NULL, Checker, NULL);
	for (int i = 0; i < WRITERS; i++)
		pthread_create(&writers[i], NULL, i < SYNC_WRITERS ? SyncWriter : Writer, NULL);
	for (int i = 0; i < WRITERS; i++)
		pthread_join(writers[i], NULL);
	pthread_join(checker, NULL);

	assert(buff.count == buff.pos + written_count);
	return 0;
}
