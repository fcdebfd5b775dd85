/*
 * crane_space: three trucks unload a container each onto a ramp with room for one; a crane
 * takes them away.
 *
 * Written for this corpus.
 *
 * Bug (missed recheck): the crane wakes all trucks that wait for room, and none of them looks
 * again. Fails when two were waiting: the second one finds the ramp full.
 */
#include <assert.h>
#include <pthread.h>
#include <stdio.h>

#define TRUCKS 3
#define ROOM 1

static struct {
	pthread_mutex_t lock;
	pthread_cond_t filled;
	pthread_cond_t freed;
	int containers[ROOM];
	int used;
} ramp = {
	.lock = PTHREAD_MUTEX_INITIALIZER,
	.filled = PTHREAD_COND_INITIALIZER,
	.freed = PTHREAD_COND_INITIALIZER,
};

static void unload(int container)
{
	pthread_mutex_lock(&ramp.lock);
	if (ramp.used == ROOM)
		pthread_cond_wait(&ramp.freed, &ramp.lock);
	assert(ramp.used < ROOM);
	ramp.containers[ramp.used] = container;
	ramp.used++;
	pthread_cond_signal(&ramp.filled);
	pthread_mutex_unlock(&ramp.lock);
}

static int lift(void)
{
	pthread_mutex_lock(&ramp.lock);
	while (ramp.used == 0)
		pthread_cond_wait(&ramp.filled, &ramp.lock);
	ramp.used--;
	int container = ramp.containers[ramp.used];
	pthread_cond_broadcast(&ramp.freed);
	pthread_mutex_unlock(&ramp.lock);
	return container;
}

static void *truck(void *arg)
{
	unload(*(int *)arg);
	return NULL;
}

static void *crane(void *arg)
{
	int *weight = arg;

	for (int i = 0; i < TRUCKS; i++)
		*weight += lift();
	return NULL;
}

int main(void)
{
	static int containers[TRUCKS] = { 5, 7, 9 };
	int weight = 0;
	pthread_t threads[TRUCKS + 1];

	pthread_create(&threads[TRUCKS], NULL, crane, &weight);
	for (int i = 0; i < TRUCKS; i++)
		pthread_create(&threads[i], NULL, truck, &containers[i]);
	for (int i = 0; i <= TRUCKS; i++)
		pthread_join(threads[i], NULL);
	printf("lifted %d\n", weight);
	return 0;
}
