/*
 * sleep_twice: a thread is ready after 10 ms; main looks for it after 50 ms, and once more
 * after another 50 ms.
 *
 * Written for this corpus: sleeping instead of waiting.
 *
 * Bug (order violation): looking twice does not make an order. The thread may be late for
 * the first look, and still not have run at the second one.
 * Natively: 0 of 200 runs.
 */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <unistd.h>

static atomic_bool ready;

static void *prepare(void *arg)
{
	usleep(10000);
	ready = true;
	return arg;
}

int main(void)
{
	pthread_t preparing;

	pthread_create(&preparing, NULL, prepare, NULL);
	for (int look = 0; look < 2 && !ready; look++)
		usleep(50000);
	assert(ready);
	pthread_join(preparing, NULL);
	return 0;
}
