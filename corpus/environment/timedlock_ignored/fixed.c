/*
 * The fixed twin of timedlock_ignored.c: who does not get the lock does without it.
 */
#include <pthread.h>
#include <stddef.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int entries;

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

static void *flush(void *arg)
{
	pthread_mutex_lock(&lock);
	entries = 0;
	usleep(250000);
	pthread_mutex_unlock(&lock);
	return arg;
}

static void *append(void *arg)
{
	struct timespec limit = in_ms(10);

	if (pthread_mutex_timedlock(&lock, &limit) == 0) {
		entries++;
		pthread_mutex_unlock(&lock);
	}
	return arg;
}

int main(void)
{
	pthread_t threads[2];

	pthread_create(&threads[0], NULL, flush, NULL);
	pthread_create(&threads[1], NULL, append, NULL);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
