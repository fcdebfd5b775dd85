/*
 * The fixed twin of manager.c: the list of released blocks is changed under its
 * own lock only.
 */
#include <assert.h>
#include <pthread.h>
#include <stdbool.h>

#define RELEASERS 2
#define BLOCKS 2
#define ROUNDS 2

struct block {
	pthread_mutex_t lock;
	bool in_use;
};

struct list {
	pthread_mutex_t lock;
	int count;
};

static struct block blocks[BLOCKS];
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
	release(arg);
	return NULL;
}

static void *manager(void *arg)
{
	(void)arg;
	for (int i = 0; i < ROUNDS; i++)
		collect();
	return NULL;
}

int main(void)
{
	pthread_t releasers[RELEASERS];
	pthread_t manage;

	for (int i = 0; i < BLOCKS; i++) {
		pthread_mutex_init(&blocks[i].lock, NULL);
		blocks[i].in_use = true;
	}
	for (int i = 0; i < RELEASERS; i++)
		pthread_create(&releasers[i], NULL, releaser, &blocks[i]);
	pthread_create(&manage, NULL, manager, NULL);
	for (int i = 0; i < RELEASERS; i++)
		pthread_join(releasers[i], NULL);
	pthread_join(manage, NULL);

	while (collect())
		; /* what was released after the last round */
	assert(available.count == BLOCKS);
	return 0;
}
