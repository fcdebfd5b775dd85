/*
 * belt_post: a baker puts loaves on a belt of two places, a packer takes them off; two semaphores
 * count the free and the filled places.
 *
 * Written for this corpus, after the bounded buffers that are taught with semaphores.
 *
 * The twin: the baker posts `filled` when the loaf is on its place.
 */
#include <assert.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>

#define LOAVES 3
#define PLACES 2

static struct {
	atomic_int place[PLACES];
	sem_t vacant;
	sem_t filled;
} belt;

static int packed;

static void put(int number, int weight)
{
	sem_wait(&belt.vacant);
	atomic_store(&belt.place[number % PLACES], weight);
	sem_post(&belt.filled);
}

static int take(int number)
{
	sem_wait(&belt.filled);
	int weight = atomic_load(&belt.place[number % PLACES]);
	sem_post(&belt.vacant);
	return weight;
}

static void *baker(void *arg)
{
	(void)arg;
	for (int i = 0; i < LOAVES; i++)
		put(i, 500 + i);
	return NULL;
}

static void *packer(void *arg)
{
	(void)arg;
	for (int i = 0; i < LOAVES; i++)
		packed += take(i);
	return NULL;
}

int main(void)
{
	pthread_t baking, packing;

	sem_init(&belt.vacant, 0, PLACES);
	sem_init(&belt.filled, 0, 0);
	pthread_create(&baking, NULL, baker, NULL);
	pthread_create(&packing, NULL, packer, NULL);
	pthread_join(baking, NULL);
	pthread_join(packing, NULL);
	assert(packed == 1503);
	printf("packed %d\n", packed);
	return 0;
}
