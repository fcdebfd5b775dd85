/*
 * The fixed twin of bzip2smp.c: the next block is taken under the lock.
 */
#include <pthread.h>
#include <stddef.h>

#define WORKERS 2
#define BLOCKS 3

struct block {
	int input;
	int output;
};

static struct block blocks[BLOCKS];

static struct {
	pthread_mutex_t lock;
	struct block *table[BLOCKS];
	int next; /* first block that nobody has taken */
	int finished;
} work = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* Takes the next block; returns 0 if there is none left. */
static int take_block(struct block **block)
{
	int taken = 0;

	pthread_mutex_lock(&work.lock);
	int index = work.next;
	if (index < BLOCKS) {
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

int main(void)
{
	pthread_t workers[WORKERS];

	for (int i = 0; i < BLOCKS; i++) {
		blocks[i].input = 2 * i;
		work.table[i] = &blocks[i];
	}
	for (int i = 0; i < WORKERS; i++)
		pthread_create(&workers[i], NULL, worker, NULL);
	for (int i = 0; i < WORKERS; i++)
		pthread_join(workers[i], NULL);
	return 0;
}
