/*
 * The fixed twin of canneal.c: the two locks are taken in the order of the
 * elements' addresses.
 */
#include <assert.h>
#include <pthread.h>
#include <stdlib.h>

#define THREADS 3

struct netlist_elem {
	pthread_mutex_t lock;
	int place;
};

static struct netlist_elem elements[2 * THREADS]; /* the second half: inside the regions */
static int temperatures = 1;
static pthread_barrier_t barrier;

static void swap_locations(struct netlist_elem *a, struct netlist_elem *b)
{
	/* Always in the order of the addresses. */
	pthread_mutex_lock(a < b ? &a->lock : &b->lock);
	pthread_mutex_lock(a < b ? &b->lock : &a->lock);
	int place = a->place;
	a->place = b->place;
	b->place = place;
	pthread_mutex_unlock(&b->lock);
	pthread_mutex_unlock(&a->lock);
}

static void *annealer(void *arg)
{
	int id = *(int *)arg;

	for (int t = 1; t <= temperatures; t++) {
		int other = t < temperatures ? THREADS + id : (id + 1) % THREADS;

		swap_locations(&elements[id], &elements[other]);
		pthread_barrier_wait(&barrier);
	}
	return NULL;
}

/* The argument is the number of temperatures. */
int main(int argc, char **argv)
{
	static int ids[THREADS];
	pthread_t threads[THREADS];
	int sum = 0;

	if (argc > 1)
		temperatures = atoi(argv[1]);
	pthread_barrier_init(&barrier, NULL, THREADS);
	for (int i = 0; i < THREADS; i++)
		ids[i] = i;
	for (int i = 0; i < 2 * THREADS; i++) {
		pthread_mutex_init(&elements[i].lock, NULL);
		elements[i].place = i;
	}
	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, annealer, &ids[i]);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	pthread_barrier_destroy(&barrier);

	for (int i = 0; i < 2 * THREADS; i++)
		sum += elements[i].place;
	assert(sum == THREADS * (2 * THREADS - 1));
	return 0;
}
