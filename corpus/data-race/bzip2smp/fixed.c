/*
 * The fixed twin of bzip2smp.c: the next block is taken under the lock.
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
	int taken = 0;

	pthread_mutex_lock(&work.lock);
	int index = work.next;
	if (index < number) {
		work.next = index + 1;
		*block = work.table[index];
		work.table[index] = NULL;
		taken = 1;
	}
	pthread_mutex_unlock(&work.lock);
	return taken;
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
