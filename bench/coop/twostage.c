/* The fixed twin of multi-variable/twostage: rounds of each thread. */
#include <assert.h>
#include <pthread.h>
#include "rounds.h"

#define WRITERS 2

struct data {
	pthread_mutex_t lock;
	int value;
};

static struct data data1 = { PTHREAD_MUTEX_INITIALIZER, 0 };
static struct data data2 = { PTHREAD_MUTEX_INITIALIZER, 0 };

static void *twostage(void *arg)
{
	unsigned value = 1;

	(void)arg;
	for (int i = 1; i <= rounds; i++) {
		pthread_mutex_lock(&data1.lock);
		data1.value = i;
		pthread_mutex_lock(&data2.lock);
		data2.value = data1.value + 1;
		pthread_mutex_unlock(&data2.lock);
		pthread_mutex_unlock(&data1.lock);
		value = compute(value, 5);
	}
	return (void *)(size_t)value;
}

static void *reader(void *arg)
{
	int t1, t2;
	unsigned value = 2;

	(void)arg;
	for (int i = 0; i < rounds; i++) {
		pthread_mutex_lock(&data1.lock);
		t1 = data1.value;
		pthread_mutex_lock(&data2.lock);
		t2 = data2.value;
		pthread_mutex_unlock(&data2.lock);
		pthread_mutex_unlock(&data1.lock);
		value = compute(value, 4);
		if (t1 == 0)
			continue; /* nothing written yet */
		assert(t2 == t1 + 1);
	}
	return (void *)(size_t)value;
}

int main(int argc, char **argv)
{
	pthread_t writers[WRITERS];
	pthread_t check;

	take_arguments(argc, argv);
	for (int i = 0; i < WRITERS; i++)
		pthread_create(&writers[i], NULL, twostage, NULL);
	pthread_create(&check, NULL, reader, NULL);
	for (int i = 0; i < WRITERS; i++)
		pthread_join(writers[i], NULL);
	pthread_join(check, NULL);
	return 0;
}
