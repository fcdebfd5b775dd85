/*
 * manager: threads release memory blocks, and a manager thread returns the
 * released blocks to the free list, one at a time.
 *
 * Modelled on `Manager` of the IBM ConTest suite as studied by CoopREP (table
 * 3.2, "wrong/no lock"), Cortex (table 5.1) and the MaxSMT paper.
 *
 * Bug (wrong lock): a release takes the lock of the block it releases, not the
 * lock of the list of released blocks. Two releases, or a release and the
 * manager taking one from the list, interleave at `released.count`, and a block
 * is dropped, or counted twice. Blocks are collected one at a time, so the test
 * for a released block succeeds more or less often than in any run that passes.
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
	released.count = released.count + 1;
	pthread_mutex_unlock(&b->lock);
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
