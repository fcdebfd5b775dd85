/*
 * rwlock_timed_dirty: a cache with one dirty entry. One thread writes it back under a write
 * lock with a limit, another reads what is stored.
 *
 * Written for this corpus.
 *
 * Bug: the entry is marked clean whether or not pthread_rwlock_timedwrlock got the lock.
 * The reader holds it but for a moment, so 20 ms have to pass while it could run; then the
 * entry is neither stored nor dirty.
 * Natively: 0 of 200 runs.
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
		pthread_rwlock_unlock(&lock);
	}
	dirty = false;
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
