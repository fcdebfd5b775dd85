/*
 * builtin_peak: the most connections that were open at once, kept by GCC's
 * atomic builtins.
 *
 * Modelled on statistics of servers ("high-water marks").
 *
 * Bug (assertion): a thread sees a lower peak and is interrupted; the other
 * stores a higher one; the first overwrites it with its own.
 */
#include <assert.h>
#include <pthread.h>
#include <stddef.h>

static long peak;

static void saw(long open)
{
	if (open > __atomic_load_n(&peak, __ATOMIC_SEQ_CST))
		__atomic_store_n(&peak, open, __ATOMIC_SEQ_CST);
}

static void *listener(void *open)
{
	saw(*(long *)open);
	return NULL;
}

int main(void)
{
	long open[] = { 7, 12 };
	pthread_t listeners[2];

	for (int i = 0; i < 2; i++)
		pthread_create(&listeners[i], NULL, listener, &open[i]);
	for (int i = 0; i < 2; i++)
		pthread_join(listeners[i], NULL);
	assert(__atomic_load_n(&peak, __ATOMIC_SEQ_CST) == 12);
	return 0;
}
