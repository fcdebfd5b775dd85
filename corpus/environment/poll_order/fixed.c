/*
 * The fixed twin of poll_order.c: the worker writes its result first.
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
	result = 42;
	done = true;
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
