/*
 * trylock_unchecked: two threads count under a lock; one of them only tries to take it.
 *
 * Written for this corpus.
 *
 * Bug: the result of pthread_mutex_trylock is ignored. If the other thread has the lock, both
 * count at once and the lock is released by the one that does not hold it.
 * Natively: 0 of 200 runs show it.
 */
#include <assert.h>
#include <pthread.h>
#include <stddef.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int counted, missed;

static void *count(void *arg)
{
	pthread_mutex_lock(&lock);
	counted++;
	pthread_mutex_unlock(&lock);
	return arg;
}

static void *try(void *arg)
{
	pthread_mutex_trylock(&lock);
	counted++;
	pthread_mutex_unlock(&lock);
	return arg;
}

int main(void)
{
	pthread_t threads[2];

	pthread_create(&threads[0], NULL, count, NULL);
	pthread_create(&threads[1], NULL, try, NULL);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	assert(pthread_mutex_trylock(&lock) == 0);
	assert(counted + missed == 2);
	pthread_mutex_unlock(&lock);
	return 0;
}
