/*
 * if_wait: main waits until a thread has started.
 *
 * Written for this corpus: POSIX on spurious wake-ups.
 *
 * Bug: main tests once, with the lock held, and then waits once. Nobody else waits, so no signal
 * can be stolen; but the wait may return without any.
 * Natively: 0 of 200 runs.
 */
#include <assert.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static bool started;

static void *start(void *arg)
{
	pthread_mutex_lock(&lock);
	started = true;
	pthread_cond_signal(&changed);
	pthread_mutex_unlock(&lock);
	return arg;
}

int main(void)
{
	pthread_t thread;

	pthread_create(&thread, NULL, start, NULL);
	pthread_mutex_lock(&lock);
	if (!started)
		pthread_cond_wait(&changed, &lock);
	assert(started);
	pthread_mutex_unlock(&lock);
	pthread_join(thread, NULL);
	return 0;
}
