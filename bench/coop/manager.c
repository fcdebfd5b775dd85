/* The fixed twin of atomicity/manager: each round releases every block once. */
#include <assert.h>
#include <pthread.h>
#include <stdbool.h>
#include "rounds.h"

#define RELEASERS 4
#define SHARE 8 /* blocks of each releaser */

struct block {
	pthread_mutex_t lock;
	bool in_use;
};

struct list {
	pthread_mutex_t lock;
	int count;
};

static struct block blocks[RELEASERS * SHARE];
static struct list released = { PTHREAD_MUTEX_INITIALIZER, 0 };
static struct list available = { PTHREAD_MUTEX_INITIALIZER, 0 };

static void release(struct block *b)
{
	pthread_mutex_lock(&b->lock);
	b->in_use = false;
	pthread_mutex_unlock(&b->lock);

	pthread_mutex_lock(&released.lock);
	released.count = released.count + 1;
	pthread_mutex_unlock(&released.lock);
}

/* Moves a released block to the free list, if there is one. */
static bool collect(void)
{
	pthread_mutex_lock(&released.lock);
	bool any = released.count > 0;
	if (any) {
		released.count = released.count - 1;
		pthread_mutex_lock(&available.lock);
		available.count++;
		pthread_mutex_unlock(&available.lock);
	}
	pthread_mutex_unlock(&released.lock);
	return any;
}

static void *releaser(void *arg)
{
	struct block *mine = arg;
	unsigned value = 1;

	for (int round = 0; round < rounds; round++) {
		for (int i = 0; i < SHARE; i++) {
			release(&mine[i]);
			value = compute(value, 5);
		}
	}
	return (void *)(size_t)value;
}

static void *manager(void *arg)
{
	unsigned value = 2;

	(void)arg;
	for (int i = 0; i < RELEASERS * SHARE * rounds; i++) {
		collect();
		value = compute(value, 7);
	}
	return (void *)(size_t)value;
}

int main(int argc, char **argv)
{
	pthread_t threads[RELEASERS];
	pthread_t manage;

	take_arguments(argc, argv);
	for (int i = 0; i < RELEASERS * SHARE; i++) {
		pthread_mutex_init(&blocks[i].lock, NULL);
		blocks[i].in_use = true;
	}
	for (int i = 0; i < RELEASERS; i++)
		pthread_create(&threads[i], NULL, releaser, &blocks[i * SHARE]);
	pthread_create(&manage, NULL, manager, NULL);
	for (int i = 0; i < RELEASERS; i++)
		pthread_join(threads[i], NULL);
	pthread_join(manage, NULL);

	while (collect())
		; /* what was released after the last round */
	assert(available.count == RELEASERS * SHARE * rounds);
	return 0;
}
