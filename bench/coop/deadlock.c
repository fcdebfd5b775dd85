/* The fixed twin of deadlock/deadlock: rounds are the swaps of each thread. */
#include <assert.h>
#include <pthread.h>
#include "rounds.h"

struct element {
	pthread_mutex_t lock;
	int value;
};

static struct element element1 = { PTHREAD_MUTEX_INITIALIZER, 1 };
static struct element element2 = { PTHREAD_MUTEX_INITIALIZER, 2 };

/* The caller holds both locks. */
static void swap(struct element *a, struct element *b)
{
	int value = a->value;

	a->value = b->value;
	b->value = value;
}

static void *one(void *arg)
{
	unsigned value = 1;

	(void)arg;
	for (int i = 0; i < rounds; i++) {
		pthread_mutex_lock(&element1.lock);
		pthread_mutex_lock(&element2.lock);
		swap(&element1, &element2);
		pthread_mutex_unlock(&element2.lock);
		pthread_mutex_unlock(&element1.lock);
		value = compute(value, 6);
	}
	return (void *)(size_t)value;
}

static void *two(void *arg)
{
	unsigned value = 2;

	(void)arg;
	for (int i = 0; i < rounds; i++) {
		pthread_mutex_lock(&element1.lock);
		pthread_mutex_lock(&element2.lock);
		swap(&element2, &element1);
		pthread_mutex_unlock(&element2.lock);
		pthread_mutex_unlock(&element1.lock);
		value = compute(value, 6);
	}
	return (void *)(size_t)value;
}

int main(int argc, char **argv)
{
	pthread_t t1, t2;

	take_arguments(argc, argv);
	pthread_create(&t1, NULL, one, NULL);
	pthread_create(&t2, NULL, two, NULL);
	pthread_join(t1, NULL);
	pthread_join(t2, NULL);
	assert(element1.value == 1 && element2.value == 2);
	return 0;
}
