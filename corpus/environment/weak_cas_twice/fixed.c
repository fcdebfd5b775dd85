/*
 * The fixed twin of weak_cas_twice.c: a thread tries until it has counted.
 */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

static atomic_int counter;

static void *count(void *arg)
{
	int value = 0;

	while (!atomic_compare_exchange_weak(&counter, &value, value + 1))
		;
	return arg;
}

int main(void)
{
	pthread_t thread;

	pthread_create(&thread, NULL, count, NULL);
	pthread_join(thread, NULL);
	assert(counter == 1);
	return 0;
}
