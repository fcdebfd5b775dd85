/*
 * The fixed twin of weak_cas_once.c: the strong compare-exchange fails only for a reason.
 */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

static atomic_int slot;
static atomic_int owners;

static void *claim(void *arg)
{
	int free_slot = 0;

	if (atomic_compare_exchange_strong(&slot, &free_slot, 1))
		owners++;
	return arg;
}

int main(void)
{
	pthread_t thread;

	pthread_create(&thread, NULL, claim, NULL);
	pthread_join(thread, NULL);
	assert(owners == 1);
	return 0;
}
