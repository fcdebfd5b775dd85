/*
 * barrier_reuse: three workers compute in two phases and meet after each at a barrier
 * made of a counter and a semaphore.
 *
 * Modelled on the barrier with one turnstile that textbooks on semaphores warn of.
 *
 * Bug (order violation): the last to arrive posts once for each of the others, but
 * nothing says whom a post is for. Fails when a worker that was let through arrives
 * at the second phase's barrier and takes the post of one that has not yet left the
 * first: it goes on although that one has not begun the second phase.
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
	sem_t gate;
};

static struct barrier barrier = { .lock = PTHREAD_MUTEX_INITIALIZER };
static int done[PHASES][WORKERS];
static int number[WORKERS] = { 0, 1, 2 };

static void barrier_wait(struct barrier *b)
{
	pthread_mutex_lock(&b->lock);
	if (++b->arrived == WORKERS) {
		b->arrived = 0;
		for (int i = 0; i < WORKERS - 1; i++)
			sem_post(&b->gate);
		pthread_mutex_unlock(&b->lock);
		return;
	}
	pthread_mutex_unlock(&b->lock);
	sem_wait(&b->gate);
}

static void *worker(void *arg)
{
	int me = *(int *)arg;

	for (int phase = 0; phase < PHASES; phase++) {
		done[phase][me] = 1;
		barrier_wait(&barrier);
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

	sem_init(&barrier.gate, 0, 0);
	for (int i = 0; i < WORKERS; i++)
		pthread_create(&threads[i], NULL, worker, &number[i]);
	for (int i = 0; i < WORKERS; i++)
		pthread_join(threads[i], NULL);
	sem_destroy(&barrier.gate);
	return 0;
}
