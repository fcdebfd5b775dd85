/*
 * The fixed twin of polite_livelock.c: the other half, whose turn it is.
 */
#include <assert.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stddef.h>

static atomic_int wants[2];
static atomic_int turn;
static int inside;

static void *enter(void *arg)
{
	int self = *(int *)arg;

	wants[self] = 1;
	turn = 1 - self;
	while (wants[1 - self] && turn != self)
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
