/*
 * early_read, fixed: main looks at the answer after it has joined the worker.
 */
#include <assert.h>
#include <pthread.h>

static int answer;

static void *compute(void *arg)
{
	answer = 42;
	return arg;
}

int main(void)
{
	pthread_t worker;

	pthread_create(&worker, NULL, compute, NULL);
	pthread_join(worker, NULL);
	int seen = answer;
	assert(seen == 42);
	return 0;
}
