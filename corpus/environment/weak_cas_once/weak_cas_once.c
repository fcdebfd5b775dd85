/*
 * weak_cas_once: a thread claims a slot with a compare-exchange; if that fails, another thread
 * has the slot.
 *
 * Written for this corpus: C11 7.17.7.4.
 *
 * Bug: the weak compare-exchange may fail although the slot is free, and then nobody has it.
 * Natively: never on x86, where it does not fail so.
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

	if (atomic_compare_exchange_weak(&slot, &free_slot, 1))
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
