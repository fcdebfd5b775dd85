/*
 * The fixed twin of barrier_reuse.c: two semaphores take turns. Nobody comes to the third
 * phase before everybody has left the first.
 */
#include <assert.h>
#include <pthread.h>
#include <semaphore.h>
#include <stddef.h>

#define WORKERS 3
#define PHASES 2

struct barrier {
	pthread_mutex_t lock;
	int arrived;
	sem_t gate[2]; /* in turn, so that no post is taken by the next phase */
};

static struct barrier barrier = { .lock = PTHREAD_MUTEX_INITIALIZER };
static int done[PHASES][WORKERS];
static int number[WORKERS] = { 0, 1, 2 };

static void barrier_wait(struct barrier *b, int phase)
{
	pthread_mutex_lock(&b->lock);
	if (++b->arrived == WORKERS) {
		b->arrived = 0;
		for (int i = 0; i < WORKERS - 1; i++)
			sem_post(&b->gate[phase % 2]);
		pthread_mutex_unlock(&b->lock);
		return;
	}
	pthread_mutex_unlock(&b->lock);
	sem_wait(&b->gate[phase % 2]);
}

static void *worker(void *arg)
{
	int me = *(int *)arg;

	for (int phase = 0; phase < PHASES; phase++) {
		done[phase][me] = 1;
		barrier_wait(&barrier, phase);
		int sum = 0;
		for (int i = 0; i < WORKERS; i++)
			sum += done[phase][i];
		assert(sum == WORKERS);
	}
	return NULL;
}

int main(void)
{
	pthread_t threads[WORKERS];

	sem_init(&barrier.gate[0], 0, 0);
	sem_init(&barrier.gate[1], 0, 0);
	for (int i = 0; i < WORKERS; i++)
		pthread_create(&threads[i], NULL, worker, &number[i]);
	for (int i = 0; i < WORKERS; i++)
		pthread_join(threads[i], NULL);
	sem_destroy(&barrier.gate[0]);
	sem_destroy(&barrier.gate[1]);
	return 0;
}
