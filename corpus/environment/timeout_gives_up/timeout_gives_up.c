/*
 * timeout_gives_up: a client waits for a parcel with a time limit; the courier says at
 * the end what became of it.
 *
 * Modelled on queues with a timed take that lose an element now and then.
 *
 * Bug (missed recheck): when the time is over the client gives up without looking
 * whether the parcel has come meanwhile. Fails when the courier has put it there after
 * the time was over, but before the client had the lock again: it is there, and the
 * client says that nothing came.
 */
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <time.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t came = PTHREAD_COND_INITIALIZER;
static int parcel;
static bool closed;
static int taken, returned;

static struct timespec in_ms(long ms)
{
	struct timespec at;

	clock_gettime(CLOCK_REALTIME, &at);
	at.tv_nsec += ms * 1000000;
	at.tv_sec += at.tv_nsec / 1000000000;
	at.tv_nsec %= 1000000000;
	return at;
}

static int take(void)
{
	struct timespec limit = in_ms(10);
	int got = 0;

	pthread_mutex_lock(&lock);
	while (parcel == 0) {
		if (pthread_cond_timedwait(&came, &lock, &limit) == ETIMEDOUT) {
			closed = true;
			pthread_mutex_unlock(&lock);
			return 0;
		}
	}
	got = parcel;
	parcel = 0;
	pthread_mutex_unlock(&lock);
	return got;
}

static void *client(void *arg)
{
	taken = take();
	return arg;
}

static void *courier(void *arg)
{
	pthread_mutex_lock(&lock);
	if (closed)
		returned = 7;
	else
		parcel = 7;
	pthread_cond_signal(&came);
	pthread_mutex_unlock(&lock);
	return arg;
}

int main(void)
{
	pthread_t threads[2];

	pthread_create(&threads[0], NULL, client, NULL);
	pthread_create(&threads[1], NULL, courier, NULL);
	pthread_join(threads[0], NULL);
	pthread_join(threads[1], NULL);
	assert(taken + returned == 7);
	return 0;
}
