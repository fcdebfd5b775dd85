/* The fixed twin of bufwriter.c: every writer locks the buffer. */
#include <assert.h>
#include <pthread.h>
#include <stdlib.h>

#define SIZE 32768
#define WRITERS 3

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
		pthread_create(&writers[i], NULL, SyncWriter, NULL);
	for (int i = 0; i < WRITERS; i++)
		pthread_join(writers[i], NULL);
	pthread_join(checker, NULL);

	assert(buff.count == buff.pos + written_count);
	return 0;
}
