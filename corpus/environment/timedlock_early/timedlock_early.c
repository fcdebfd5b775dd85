/*
 * timedlock_early: a writer changes two numbers under a lock; a reader takes the lock with
 * a limit of one second.
 *
 * Written for this corpus.
 *
 * Bug (atomicity violation): if a second passes, the reader reads without the lock: surely
 * nobody holds it that long. A writer that is interrupted between its two writes does.
 * Natively: 0 of 200 runs.
 */
#include <assert.h>
#include <pthread.h>
#include <stddef.h>
#include <time.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int debit, credit;

static struct timespec in_ms(long ms)
{
	struct timespec at;

	clock_gettime(CLOCK_REALTIME, &at);
	at.tv_sec += ms / 1000;
	at.tv_nsec += ms % 1000 * 1000000L;
	if (at.tv_nsec >= 1000000000L) {
		at.tv_sec++;
		at.tv_nsec -= 1000000000L;
	}
	return at;
}

static void *transfer(void *arg)
{
	pthread_mutex_lock(&lock);
	debit += 10;
	credit += 10;
	pthread_mutex_unlock(&lock);
	return arg;
}

static void *audit(void *arg)
{
	struct timespec limit = in_ms(1000);
	int locked = pthread_mutex_timedlock(&lock, &limit) == 0;

	assert(debit == credit);
	if (locked)
		pthread_mutex_unlock(&lock);
	return arg;
}

int main(void)
{
	pthread_t threads[2];

	pthread_create(&threads[0], NULL, transfer, NULL);
	pthread_create(&threads[1], NULL, audit, NULL);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
