/*
 * bzip2smp: worker threads compress the blocks of a file in parallel.
 *
 * Modelled on the thread skeleton of `bzip2` (bzip2smp) of the Inspect suite,
 * in which Tinertia (table 2) seeded a segmentation fault by changing
 * synchronisation; here the lock around taking the next block is missing.
 *
 * Bug (data race): two workers read the same index of the next block. The
 * first takes the block out of the table (leaving null), the second gets null
 * and follows it.
 */
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>

#define MAX_WORKERS 8
#define MAX_BLOCKS 64

struct block {
	int input;
	int output;
};

static struct block blocks[MAX_BLOCKS];
static int workers = 2;
static int number = 3; /* of blocks */

static struct {
	pthread_mutex_t lock;
	struct block *table[MAX_BLOCKS];
	int next; /* first block that nobody has taken */
	int finished;
} work = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* Takes the next block; returns 0 if there is none left. */
static int take_block(struct block **block)
{
	int index = work.next;

	if (index == number)
		return 0;
	work.next = index + 1;
	*block = work.table[index];
	work.table[index] = NULL;
	return 1;
}

static void compress(struct block *block)
{
	block->output = block->input / 2;
}

static void *worker(void *arg)
{
	struct block *block;

	(void)arg;
	while (take_block(&block)) {
		compress(block);
		pthread_mutex_lock(&work.lock);
		work.finished++;
		pthread_mutex_unlock(&work.lock);
	}
	return NULL;
}

/* The arguments are the number of workers, and of blocks. */
int main(int argc, char **argv)
{
	pthread_t threads[MAX_WORKERS];

	if (argc > 2) {
		workers = atoi(argv[1]);
		number = atoi(argv[2]);
	}
	if (workers > MAX_WORKERS || number > MAX_BLOCKS)
		return 2;
	for (int i = 0; i < number; i++) {
		blocks[i].input = 2 * i;
		work.table[i] = &blocks[i];
	}
	for (int i = 0; i < workers; i++)
		pthread_create(&threads[i], NULL, worker, NULL);
	for (int i = 0; i < workers; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
