/*
 * meterthread: a thread reads a meter and publishes what it read; another bills
 * it.
 *
 * Ours, for causes behind inputs; modelled on drivers whose threads poll a device
 * themselves, so that the input is read in a thread.
 *
 * Bug (order violation): the reading LAST, with which the meter starts anew, is
 * published by its flag before the value is there, in another critical section.
 * It takes this reading, and a bill between flag and value.
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
	pthread_mutex_lock(&lock);
	ready = 1;
	pthread_mutex_unlock(&lock);
	pthread_mutex_lock(&lock);
	reading = 1;
	pthread_mutex_unlock(&lock);
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
