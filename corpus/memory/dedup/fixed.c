/*
 * The fixed twin of dedup.c: a chunk is found and its reference counted in one
 * critical section.
 */
#include <assert.h>
#include <pthread.h>
#include <stdlib.h>

#define KEY 42

struct chunk {
	int key;
	int refs;
};

static struct {
	pthread_mutex_t lock;
	struct chunk *bucket; /* one bucket is enough */
} hashtable = { .lock = PTHREAD_MUTEX_INITIALIZER };
static int duplicates; /* found by the compress stage */

static struct chunk *new_chunk(int key)
{
	struct chunk *c = malloc(sizeof *c);

	c->key = key;
	c->refs = 1;
	return c;
}

/* Returns the chunk with a reference for the caller. */
static struct chunk *lookup(int key)
{
	pthread_mutex_lock(&hashtable.lock);
	struct chunk *c = hashtable.bucket;
	if (c != NULL && c->key != key)
		c = NULL;
	if (c != NULL)
		c->refs++;
	pthread_mutex_unlock(&hashtable.lock);
	return c;
}

static void drop(struct chunk *c)
{
	pthread_mutex_lock(&hashtable.lock);
	c->refs--;
	if (c->refs == 0) {
		hashtable.bucket = NULL;
		free(c);
	}
	pthread_mutex_unlock(&hashtable.lock);
}

static void *compress_stage(void *arg)
{
	struct chunk *c = lookup(KEY);

	(void)arg;
	if (c != NULL) { /* a duplicate */
		duplicates++;
		drop(c);
	}
	return NULL;
}

/* Has written the first occurrence and lets go of it. */
static void *write_stage(void *arg)
{
	drop(arg);
	return NULL;
}

int main(void)
{
	pthread_t compress, write;
	struct chunk *first = new_chunk(KEY);

	hashtable.bucket = first;
	pthread_create(&compress, NULL, compress_stage, NULL);
	pthread_create(&write, NULL, write_stage, first);
	pthread_join(compress, NULL);
	pthread_join(write, NULL);
	assert(hashtable.bucket == NULL && duplicates <= 1);
	return 0;
}
