/*
 * handler_lock: a worker counts under a lock; a signal asks it to count once more.
 *
 * Written for this corpus: handlers that do too much.
 *
 * Bug: the handler takes the lock too. If the signal comes while the worker holds it, the
 * handler waits for its own thread.
 * Natively: 0 of 200 runs.
 */
#include <assert.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int counted;

static void on_signal(int number)
{
	(void)number;
	pthread_mutex_lock(&lock);
	counted++;
	pthread_mutex_unlock(&lock);
}

static void *work(void *arg)
{
	pthread_mutex_lock(&lock);
	counted++;
	pthread_mutex_unlock(&lock);
	return arg;
}

int main(void)
{
	struct sigaction action = { .sa_handler = on_signal };
	pthread_t worker;

	sigaction(SIGUSR1, &action, NULL);
	pthread_create(&worker, NULL, work, NULL);
	pthread_kill(worker, SIGUSR1);
	pthread_join(worker, NULL);
	assert(counted >= 1);
	return 0;
}
