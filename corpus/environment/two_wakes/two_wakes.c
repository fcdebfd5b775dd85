/*
 * two_wakes: a consumer waits for an item; if it wakes without one it waits once more.
 *
 * Written for this corpus: POSIX on spurious wake-ups.
 *
 * Bug: one wake-up without a reason is borne, two are not.
 * Natively: 0 of 200 runs.
 */
#include <assert.h>
#include <pthread.h>
#include <stddef.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t filled = PTHREAD_COND_INITIALIZER;
static int items;

static void *produce(void *arg)
{
	pthread_mutex_lock(&lock);
	items++;
	pthread_cond_signal(&filled);
	pthread_mutex_unlock(&lock);
	return arg;
}

static void *consume(void *arg)
{
	pthread_mutex_lock(&lock);
	for (int tries = 0; tries < 2 && items == 0; tries++)
		pthread_cond_wait(&filled, &lock);
	assert(items == 1);
	items--;
	pthread_mutex_unlock(&lock);
	return arg;
}

int main(void)
{
	pthread_t threads[2];

	pthread_create(&threads[0], NULL, produce, NULL);
	pthread_create(&threads[1], NULL, consume, NULL);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
