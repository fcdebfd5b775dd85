/*
 * barrier_rounds: workers fill a cell of a table each, meet at a barrier made of a
 * mutex, a condition variable and a counter, and add up what all have filled.
 *
 * Modelled on barriers that programs write themselves where the library has none.
 *
 * Bug (deadlock by condition): who arrives last sets the counter back to 0, and those
 * that wait do so until it is 0. Fails when a fast worker has been let through and
 * arrives at the next round before a slow one has looked at the counter again: the slow
 * one finds 1, and waits for a round that is over.
 */
#include <assert.h>
#include <pthread.h>
#include <stddef.h>

#define WORKERS 2
#define ROUNDS 2

struct barrier {
	pthread_mutex_t lock;
	pthread_cond_t opened;
	int arrived;
};

static struct barrier barrier = {
	.lock = PTHREAD_MUTEX_INITIALIZER,
	.opened = PTHREAD_COND_INITIALIZER,
};
static int cell[ROUNDS][WORKERS];
static int number[WORKERS] = { 0, 1 };

static void barrier_wait(struct barrier *b)
{
	pthread_mutex_lock(&b->lock);
	b->arrived++;
	if (b->arrived == WORKERS) {
		b->arrived = 0;
		pthread_cond_broadcast(&b->opened);
	} else {
		while (b->arrived != 0)
			pthread_cond_wait(&b->opened, &b->lock);
	}
	pthread_mutex_unlock(&b->lock);
}

static void *worker(void *arg)
{
	int me = *(int *)arg;

	for (int round = 0; round < ROUNDS; round++) {
		cell[round][me] = 1;
		barrier_wait(&barrier);
		int filled = 0;
		for (int k = 0; k < WORKERS; k++)
			filled += cell[round][k];
		assert(filled == WORKERS);
	}
	return NULL;
}

int main(void)
{
	pthread_t threads[WORKERS];

	for (int i = 0; i < WORKERS; i++)
		pthread_create(&threads[i], NULL, worker, &number[i]);
	for (int i = 0; i < WORKERS; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
