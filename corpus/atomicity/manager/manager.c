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
#include <stdlib.h>

#define MAX_RELEASERS 8
#define MAX_BLOCKS 4096

struct block {
	pthread_mutex_t lock;
	bool in_use;
};

struct list {
	pthread_mutex_t lock;
	int count;
};

static struct block blocks[MAX_BLOCKS];
static struct list released = { PTHREAD_MUTEX_INITIALIZER, 0 };
static struct list available = { PTHREAD_MUTEX_INITIALIZER, 0 };
static int releasers = 2;
static int share = 1; /* blocks of each releaser */

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
	struct block *mine = arg;

	for (int i = 0; i < share; i++)
		release(&mine[i]);
	return NULL;
}

static void *manager(void *arg)
{
	(void)arg;
	for (int i = 0; i < releasers * share; i++)
		collect();
	return NULL;
}

/* The arguments are the number of releasers, and of blocks of each. */
int main(int argc, char **argv)
{
	pthread_t threads[MAX_RELEASERS];
	pthread_t manage;

	if (argc > 1)
		releasers = atoi(argv[1]);
	if (argc > 2)
		share = atoi(argv[2]);
	if (releasers > MAX_RELEASERS || share > MAX_BLOCKS / MAX_RELEASERS)
		return 2;
	for (int i = 0; i < releasers * share; i++) {
		pthread_mutex_init(&blocks[i].lock, NULL);
		blocks[i].in_use = true;
	}
	for (int i = 0; i < releasers; i++)
		pthread_create(&threads[i], NULL, releaser, &blocks[i * share]);
	pthread_create(&manage, NULL, manager, NULL);
	for (int i = 0; i < releasers; i++)
		pthread_join(threads[i], NULL);
	pthread_join(manage, NULL);

	while (collect())
		; /* what was released after the last round */
	assert(available.count == releasers * share);
	return 0;
}
