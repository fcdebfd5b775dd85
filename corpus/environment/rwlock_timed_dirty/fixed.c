/*
 * The fixed twin of rwlock_timed_dirty.c: the entry is clean once it is stored.
 */
#include <assert.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <time.h>

static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static int stored;
static const int cached = 7;
static bool dirty = true;

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

static void *write_back(void *arg)
{
	struct timespec limit = in_ms(20);

	if (pthread_rwlock_timedwrlock(&lock, &limit) == 0) {
		stored = cached;
		dirty = false;
		pthread_rwlock_unlock(&lock);
	}
	return arg;
}

static void *report(void *arg)
{
	int *seen = arg;

	pthread_rwlock_rdlock(&lock);
	*seen = stored;
	pthread_rwlock_unlock(&lock);
	return NULL;
}

int main(void)
{
	pthread_t threads[2];
	int seen;

	pthread_create(&threads[0], NULL, write_back, NULL);
	pthread_create(&threads[1], NULL, report, &seen);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	assert(seen == 0 || seen == cached);
	assert(dirty || stored == cached);
	return 0;
}
