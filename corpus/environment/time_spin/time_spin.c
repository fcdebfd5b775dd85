/*
 * time_spin: a thread sleeps for half a second and writes its result; main waits busily
 * until time() shows two seconds more.
 *
 * Written for this corpus: waiting by the clock.
 *
 * Bug (order violation): more than a second passes for main, but nothing says that the
 * thread has run by then. Nobody fails unless it is late.
 * Natively: 0 of 20 runs.
 */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <time.h>
#include <unistd.h>

static atomic_int result;

static void *compute(void *arg)
{
	usleep(500000);
	result = 1;
	return arg;
}

int main(void)
{
	time_t end = time(NULL) + 2;
	pthread_t computing;

	pthread_create(&computing, NULL, compute, NULL);
	while (time(NULL) < end)
		;
	assert(result == 1);
	pthread_join(computing, NULL);
	return 0;
}
