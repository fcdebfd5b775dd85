/*
 * latch_done: main waits for four workers at a latch: the last one to finish wakes it.
 *
 * Written for this corpus.
 *
 * Bug (lost wake-up): the workers count down and signal without the lock. Fails when the last
 * one does so after main has seen that some are left, and before it sleeps.
 */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

#define WORKERS 4

struct latch {
	pthread_mutex_t lock;
	pthread_cond_t done;
	atomic_int left;
};

static struct latch latch = {
	.lock = PTHREAD_MUTEX_INITIALIZER,
	.done = PTHREAD_COND_INITIALIZER,
	.left = WORKERS,
};

static pthread_mutex_t result_lock = PTHREAD_MUTEX_INITIALIZER;
static int result;

static void arrive(struct latch *l)
{
	if (atomic_fetch_sub(&l->left, 1) == 1)
		pthread_cond_signal(&l->done);
}

static void await(struct latch *l)
{
	pthread_mutex_lock(&l->lock);
	while (atomic_load(&l->left) > 0)
		pthread_cond_wait(&l->done, &l->lock);
	pthread_mutex_unlock(&l->lock);
}

static void *worker(void *arg)
{
	pthread_mutex_lock(&result_lock);
	result += *(int *)arg;
	pthread_mutex_unlock(&result_lock);
	arrive(&latch);
	return NULL;
}

int main(void)
{
	static int parts[WORKERS] = { 1, 2, 3, 4 };
	pthread_t threads[WORKERS];

	for (int i = 0; i < WORKERS; i++)
		pthread_create(&threads[i], NULL, worker, &parts[i]);
	await(&latch);

	pthread_mutex_lock(&result_lock);
	printf("the result is %d\n", result);
	assert(result == 10);
	pthread_mutex_unlock(&result_lock);
	for (int i = 0; i < WORKERS; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
