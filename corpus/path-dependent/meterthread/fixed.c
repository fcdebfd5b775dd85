/*
 * The fixed twin of meterthread.c: flag and value are published in one critical
 * section, whatever the reading.
 */
#include <assert.h>
#include <pthread.h>
#include <stddef.h>

#define LAST 99999

extern unsigned __VERIFIER_nondet_uint(void);

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int ready;
static unsigned reading;

static void publish(unsigned value)
{
	pthread_mutex_lock(&lock);
	reading = value;
	ready = 1;
	pthread_mutex_unlock(&lock);
}

static void *poll_meter(void *arg)
{
	(void)arg;
	unsigned value = __VERIFIER_nondet_uint();

	if (value != LAST) {
		publish(value / 2 + 1);
		return NULL;
	}
	publish(1);
	return NULL;
}

static void *bill(void *arg)
{
	(void)arg;
	pthread_mutex_lock(&lock);
	if (ready)
		assert(reading > 0);
	pthread_mutex_unlock(&lock);
	return NULL;
}

int main(void)
{
	pthread_t threads[2];

	pthread_create(&threads[0], NULL, poll_meter, NULL);
	pthread_create(&threads[1], NULL, bill, NULL);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
