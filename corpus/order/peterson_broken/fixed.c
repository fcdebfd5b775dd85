/*
 * The fixed twin of peterson_broken.c: a thread raises its flag and then gives the turn
 * away, as Peterson wrote it.
 */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#define PATIENCE 3

static atomic_bool wants[2];
static atomic_int turn;
static int inside; /* who is, for those who are */
static int ids[2] = { 0, 1 };

static bool enter(int me)
{
	int other = 1 - me;

	wants[me] = true;
	turn = other;
	for (int i = 0; i < PATIENCE; i++)
		if (!wants[other] || turn == me)
			return true;
	wants[me] = false;
	return false;
}

static void leave(int me)
{
	wants[me] = false;
}

static void *contender(void *arg)
{
	int me = *(int *)arg;

	if (enter(me)) {
		inside = me;
		assert(inside == me);
		leave(me);
	}
	return NULL;
}

int main(void)
{
	pthread_t threads[2];

	for (int i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, contender, &ids[i]);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
