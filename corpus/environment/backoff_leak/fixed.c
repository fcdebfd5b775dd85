/*
 * The fixed twin of backoff_leak.c: every failed try releases the first lock.
 */
#include <pthread.h>
#include <sched.h>
#include <stddef.h>

static pthread_mutex_t left = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t right = PTHREAD_MUTEX_INITIALIZER;
static int moved;

static void *move_right(void *arg)
{
	pthread_mutex_lock(&right);
	pthread_mutex_lock(&left);
	moved++;
	pthread_mutex_unlock(&left);
	pthread_mutex_unlock(&right);
	return arg;
}

static void *move_left(void *arg)
{
	for (int tries = 0; tries < 2; tries++) {
		pthread_mutex_lock(&left);
		if (pthread_mutex_trylock(&right) == 0) {
			moved++;
			pthread_mutex_unlock(&right);
			pthread_mutex_unlock(&left);
			return arg;
		}
		pthread_mutex_unlock(&left);
		sched_yield();
	}
	return arg;
}

int main(void)
{
	pthread_t threads[2];

	pthread_create(&threads[0], NULL, move_right, NULL);
	pthread_create(&threads[1], NULL, move_left, NULL);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
