/*
 * The fixed twin of trylock_unchecked.c: who does not get the lock counts elsewhere. At the end
 * nobody holds it, and then pthread_mutex_trylock has to succeed.
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
	if (pthread_mutex_trylock(&lock) == 0) {
		counted++;
		pthread_mutex_unlock(&lock);
	} else {
		missed++;
	}
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
