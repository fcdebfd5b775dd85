/*
 * late_report: a service counts requests in a log and reports its state when it has
 * handled all of them; an operator switches the alarm on once, at the very beginning.
 *
 * Written for this corpus: a window that opens late, and what falls into it comes early.
 *
 * Bug (atomicity violation): at the end the service reads the flags, adds "reported" and
 * writes them back, in two critical sections instead of one.
 * Fails when the operator sets its flag between the two: it is overwritten. The operator has
 * to be kept waiting from its first step on while the service handles all requests.
 */
#include <assert.h>
#include <pthread.h>
#include <stddef.h>

#define REQUESTS 60
#define ALARM 1u
#define REPORTED 2u

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned flags;
static int handled, seen;

static unsigned read_flags(void)
{
	pthread_mutex_lock(&lock);
	unsigned now = flags;
	pthread_mutex_unlock(&lock);
	return now;
}

static void write_flags(unsigned to)
{
	pthread_mutex_lock(&lock);
	flags = to;
	pthread_mutex_unlock(&lock);
}

static void *service(void *arg)
{
	(void)arg;
	for (int i = 0; i < REQUESTS; i++) {
		pthread_mutex_lock(&lock);
		handled++;
		pthread_mutex_unlock(&lock);
	}
	write_flags(read_flags() | REPORTED);
	return NULL;
}

static void *operator(void *arg)
{
	(void)arg;
	pthread_mutex_lock(&lock);
	flags |= ALARM;
	pthread_mutex_unlock(&lock);
	for (int i = 0; i < REQUESTS; i++) {
		pthread_mutex_lock(&lock);
		seen = handled;
		pthread_mutex_unlock(&lock);
	}
	return NULL;
}

int main(void)
{
	pthread_t threads[2];

	pthread_create(&threads[0], NULL, service, NULL);
	pthread_create(&threads[1], NULL, operator, NULL);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	assert(flags == (ALARM | REPORTED));
	return 0;
}
