/*
 * early_read: main starts a worker that computes the answer and looks at the answer before it has joined the worker.
 *
 * The smallest order violation there is. It fails in the very first schedules, before a search has learned that the
 * two threads share anything: its diagnosis has to find that out by itself.
 *
 * Bug (order violation): the answer is read before it is written.
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
	int seen = answer;
	pthread_join(worker, NULL);
	assert(seen == 42);
	return 0;
}
