/*
 * The fixed twin of builtin_peak.c: the peak is replaced only if it is still the
 * one that was compared.
 */
#include <assert.h>
#include <pthread.h>
#include <stddef.h>

static long peak;

static void saw(long open)
{
	long seen = __atomic_load_n(&peak, __ATOMIC_SEQ_CST);

	while (open > seen &&
	       !__atomic_compare_exchange_n(&peak, &seen, open, 1,
					    __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
		;
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
