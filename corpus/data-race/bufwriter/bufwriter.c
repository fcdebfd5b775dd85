/*
 * bufwriter: several writers fill a shared buffer, and main checks that as
 * much is in the buffer as was written.
 *
 * Modelled on `BufWriter` (CoopREP: BufferWriter) of the IBM ConTest suite, as
 * studied by CoopREP (table 3.2, "wrong/no lock"), Cortex (table 5.1) and the
 * MaxSMT paper: SyncBufWriter locks the buffer, BufWriter forgets to.
 *
 * Bug (data race): the position is read and written back by both writers, but
 * only one of them holds the lock. Two writers put their character at the same
 * position, or one of them sets the position back.
 */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#define SIZE 32768
#define SYNC_WRITERS 1
#define BARE_WRITERS 1
#define WRITERS (SYNC_WRITERS + BARE_WRITERS)

struct buffer {
	pthread_mutex_t lock;
	char data[SIZE];
	int pos;
};

static struct buffer buff = { .lock = PTHREAD_MUTEX_INITIALIZER };
static atomic_int wasWritten;
static int chars = 2; /* per writer */

static void append(struct buffer *b, char c)
{
	b->data[b->pos] = c;
	b->pos = b->pos + 1;
	atomic_fetch_add(&wasWritten, 1);
}

static void *SyncBufWriter(void *arg)
{
	(void)arg;
	for (int i = 0; i < chars; i++) {
		pthread_mutex_lock(&buff.lock);
		append(&buff, 's');
		pthread_mutex_unlock(&buff.lock);
	}
	return NULL;
}

static void *BufWriter(void *arg)
{
	(void)arg;
	for (int i = 0; i < chars; i++)
		append(&buff, 'b');
	return NULL;
}

/* The argument is the number of characters per writer. */
int main(int argc, char **argv)
{
	pthread_t writers[WRITERS];
	int filled = 0;

	if (argc > 1)
		chars = atoi(argv[1]);
	if (chars > SIZE / WRITERS)
		return 2;
	for (int i = 0; i < SYNC_WRITERS; i++)
		pthread_create(&writers[i], NULL, SyncBufWriter, NULL);
	for (int i = 0; i < BARE_WRITERS; i++)
		pthread_create(&writers[SYNC_WRITERS + i], NULL, BufWriter, NULL);
	for (int i = 0; i < WRITERS; i++)
		pthread_join(writers[i], NULL);

	/* What is there is added and not branched on: all runs take the same path. */
	for (int i = 0; i < chars * WRITERS; i++)
		filled += buff.data[i] != '\0';
	assert(filled == buff.pos && buff.pos == wasWritten);
	return 0;
}
