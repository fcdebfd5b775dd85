/*
 * poll_order: main polls every millisecond until a worker is done, and takes its result.
 *
 * Written for this corpus: polling with usleep.
 *
 * Bug (order violation): the worker says that it is done before it writes the result. It
 * fails if main looks just then; that can be its first look, so no time need pass.
 * Natively: 0 of 200 runs.
 */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <unistd.h>

static atomic_bool done;
static atomic_int result;

static void *work(void *arg)
{
	done = true;
	result = 42;
	return arg;
}

int main(void)
{
	pthread_t worker;

	pthread_create(&worker, NULL, work, NULL);
	while (!done)
		usleep(1000);
	assert(result == 42);
	pthread_join(worker, NULL);
	return 0;
}
