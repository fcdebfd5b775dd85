/*
 * The fixed twin of pool_handoff_tie.c: acquire() says whether it was handed the connection,
 * whatever pthread_cond_timedwait returned.
 */
#include <assert.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <time.h>
#include <unistd.h>

struct waiter {
	bool has_connection;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t handed = PTHREAD_COND_INITIALIZER;
static struct waiter *waiting;
static int idle;

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

static bool acquire(void)
{
	struct timespec limit = in_ms(50);
	struct waiter self = { false };
	int error = 0;

	pthread_mutex_lock(&lock);
	if (idle > 0) {
		idle--;
		pthread_mutex_unlock(&lock);
		return true;
	}
	waiting = &self;
	while (!self.has_connection && error == 0)
		error = pthread_cond_timedwait(&handed, &lock, &limit);
	waiting = NULL;
	bool acquired = self.has_connection;
	pthread_mutex_unlock(&lock);
	return acquired;
}

static void release(void)
{
	pthread_mutex_lock(&lock);
	if (waiting) {
		waiting->has_connection = true;
		pthread_cond_signal(&handed);
	} else {
		idle++;
	}
	pthread_mutex_unlock(&lock);
}

static void *owner(void *arg)
{
	usleep(50000);
	release();
	return arg;
}

static void *user(void *arg)
{
	if (acquire())
		release();
	return arg;
}

int main(void)
{
	pthread_t threads[2];

	pthread_create(&threads[0], NULL, owner, NULL);
	pthread_create(&threads[1], NULL, user, NULL);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	assert(idle == 1);
	return 0;
}
