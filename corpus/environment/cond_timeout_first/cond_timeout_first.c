/*
 * cond_timeout_first: a server answers after 250 ms, or at once if its cache is warm
 * by then; the client waits for 10 ms.
 *
 * Written for this corpus.
 *
 * Bug (order violation): the client takes the end of its wait for the answer. While the
 * cache is cold the wait is over first, in every schedule.
 * Natively: 3 of 200 runs.
 */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t answered = PTHREAD_COND_INITIALIZER;
static atomic_bool warm;
static int answer;

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

static void *serve(void *arg)
{
	if (!warm)
		usleep(250000);
	pthread_mutex_lock(&lock);
	answer = 42;
	pthread_cond_signal(&answered);
	pthread_mutex_unlock(&lock);
	return arg;
}

static void *ask(void *arg)
{
	struct timespec limit = in_ms(10);
	int error = 0;

	pthread_mutex_lock(&lock);
	while (answer == 0 && error == 0)
		error = pthread_cond_timedwait(&answered, &lock, &limit);
	assert(answer == 42);
	pthread_mutex_unlock(&lock);
	return arg;
}

int main(void)
{
	pthread_t server, client;

	pthread_create(&server, NULL, serve, NULL);
	warm = true;
	pthread_create(&client, NULL, ask, NULL);
	pthread_join(client, NULL);
	pthread_join(server, NULL);
	return 0;
}
