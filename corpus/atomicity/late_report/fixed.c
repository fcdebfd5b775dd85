/*
 * late_report, repaired: flags are added in one critical section.
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

static void add_flags(unsigned more)
{
	pthread_mutex_lock(&lock);
	flags |= more;
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
	add_flags(REPORTED);
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
