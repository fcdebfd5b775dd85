/*
 * The fixed twin of dedup.c: a chunk is found and its reference counted in one
 * critical section.
 */
#include <assert.h>
#include <pthread.h>
#include <stdlib.h>

#define KEY 42 /* of the first chunk */
#define MAX_CHUNKS 32

struct chunk {
	int key;
	int refs;
};

static struct {
	pthread_mutex_t lock;
	struct chunk *buckets[MAX_CHUNKS]; /* one a chunk */
} hashtable = { .lock = PTHREAD_MUTEX_INITIALIZER };
static int chunks = 1;
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
	struct chunk *c = hashtable.buckets[key - KEY];
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
		hashtable.buckets[c->key - KEY] = NULL;
		free(c);
	}
	pthread_mutex_unlock(&hashtable.lock);
}

static void share(int key)
{
	struct chunk *c = lookup(key);

	if (c != NULL) { /* a duplicate */
		duplicates++;
		drop(c);
	}
}

static void *compress_stage(void *arg)
{
	(void)arg;
	for (int i = 0; i < chunks; i++)
		share(KEY + i);
	return NULL;
}

/* Has written the first occurrence of each and lets go of it. */
static void *write_stage(void *arg)
{
	struct chunk **first = arg;

	for (int i = 0; i < chunks; i++)
		drop(first[i]);
	return NULL;
}

/* The argument is the number of chunks. */
int main(int argc, char **argv)
{
	pthread_t compress, write;
	struct chunk *first[MAX_CHUNKS];

	if (argc > 1)
		chunks = atoi(argv[1]);
	if (chunks > MAX_CHUNKS)
		return 2;
	for (int i = 0; i < chunks; i++) {
		first[i] = new_chunk(KEY + i);
		hashtable.buckets[i] = first[i];
	}
	pthread_create(&compress, NULL, compress_stage, NULL);
	pthread_create(&write, NULL, write_stage, first);
	pthread_join(compress, NULL);
	pthread_join(write, NULL);
	assert(duplicates <= chunks);
	for (int i = 0; i < chunks; i++)
		assert(hashtable.buckets[i] == NULL);
	return 0;
}
