/*
 * dedup: a pipeline that stores every distinct chunk of a stream once: the
 * compress stage looks a chunk up in a hash table and shares it, the write
 * stage drops chunks that nobody refers to any more.
 *
 * Modelled on the thread skeleton of `dedup` of PARSEC, in which Tinertia
 * (table 2) seeded a segmentation fault by changing synchronisation; here the
 * reference is taken after the lock of the table was released.
 *
 * Bug (atomicity violation, use after free): the compress stage finds the
 * chunk; before it has counted its reference, the write stage drops the last
 * one, removes the chunk and frees it.
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

static struct chunk *lookup(int key)
{
	pthread_mutex_lock(&hashtable.lock);
	struct chunk *c = hashtable.bucket;
	if (c != NULL && c->key != key)
		c = NULL;
	pthread_mutex_unlock(&hashtable.lock);
	return c;
}

static void hold(struct chunk *c)
{
	pthread_mutex_lock(&hashtable.lock);
	c->refs++;
	pthread_mutex_unlock(&hashtable.lock);
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
		hold(c);
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
