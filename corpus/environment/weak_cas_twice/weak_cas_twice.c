/*
 * weak_cas_twice: a thread counts with a compare-exchange, and tries twice.
 *
 * Written for this corpus: C11 7.17.7.4.
 *
 * Bug: the weak compare-exchange may fail for no reason, and it may do so twice; then the count
 * is lost.
 * Natively: never on x86, where it does not fail so.
 */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

static atomic_int counter;

static void *count(void *arg)
{
	int value = 0;

	for (int tries = 0; tries < 2; tries++)
		if (atomic_compare_exchange_weak(&counter, &value, value + 1))
			break;
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
