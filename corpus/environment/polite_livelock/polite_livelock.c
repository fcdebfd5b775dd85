/*
 * polite_livelock: two threads say that they want to enter and let the other one go first.
 *
 * Written for this corpus: half of Peterson's algorithm.
 *
 * Bug (order violation): if both have said so before either looks, both look for ever. Neither
 * of them ever blocks.
 * Natively: 0 of 200 runs.
 */
#include <assert.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stddef.h>

static atomic_int wants[2];
static int inside;

static void *enter(void *arg)
{
	int self = *(int *)arg;

	wants[self] = 1;
	while (wants[1 - self])
		sched_yield();
	inside++;
	assert(inside == 1);
	inside--;
	wants[self] = 0;
	return NULL;
}

int main(void)
{
	int numbers[2] = { 0, 1 };
	pthread_t threads[2];

	for (int i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, enter, &numbers[i]);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
