/*
 * The fixed twin of cache_evict.c: a reader copies the value while it holds the lock.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#define SLOTS 4

struct entry {
	int key;
	int value;
};

static struct {
	pthread_mutex_t lock;
	struct entry *slots[SLOTS];
} cache = { .lock = PTHREAD_MUTEX_INITIALIZER };

static atomic_int misses;

static void insert(int key, int value)
{
	struct entry *e = malloc(sizeof *e);

	e->key = key;
	e->value = value;
	pthread_mutex_lock(&cache.lock);
	cache.slots[key % SLOTS] = e;
	pthread_mutex_unlock(&cache.lock);
}

static int get(int key)
{
	int value = -1;

	pthread_mutex_lock(&cache.lock);
	if (cache.slots[key % SLOTS] != NULL)
		value = cache.slots[key % SLOTS]->value;
	else
		atomic_fetch_add(&misses, 1);
	pthread_mutex_unlock(&cache.lock);
	return value;
}

static void *reader(void *arg)
{
	*(int *)arg = get(1);
	return NULL;
}

static void *evictor(void *arg)
{
	pthread_mutex_lock(&cache.lock);
	struct entry *e = cache.slots[1];
	cache.slots[1] = NULL;
	pthread_mutex_unlock(&cache.lock);
	free(e);
	return arg;
}

int main(void)
{
	int got[2];
	pthread_t threads[3];

	insert(1, 10);
	pthread_create(&threads[0], NULL, reader, &got[0]);
	pthread_create(&threads[1], NULL, evictor, NULL);
	pthread_create(&threads[2], NULL, reader, &got[1]);
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	printf("%d, %d, %d misses\n", got[0], got[1], atomic_load(&misses));
	return 0;
}
