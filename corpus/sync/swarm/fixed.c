/*
 * The fixed twin of swarm.c: a second barrier separates computing the places from
 * moving the elements.
 */
#include <assert.h>
#include <pthread.h>
#include <stdlib.h>

#define THREADS 2
#define MAX_PART 256
#define MAX_SIZE (THREADS * MAX_PART)
#define BUCKETS 2

static int part = 2; /* elements of each thread, an even number */
static int input[MAX_SIZE];
static int output[MAX_SIZE];
static int count[THREADS][BUCKETS];
static int place[THREADS][BUCKETS]; /* where the next element goes */
static pthread_barrier_t barrier;

static void SWARM_Barrier(void)
{
	pthread_barrier_wait(&barrier);
}

static void count_part(int id)
{
	for (int i = id * part; i < (id + 1) * part; i++)
		count[id][input[i]]++;
}

static void compute_places(void)
{
	int next = 0;

	for (int b = 0; b < BUCKETS; b++) {
		for (int t = 0; t < THREADS; t++) {
			place[t][b] = next;
			next += count[t][b];
		}
	}
}

static void move_part(int id)
{
	for (int i = id * part; i < (id + 1) * part; i++)
		output[place[id][input[i]]++] = input[i];
}

static void *radix_sort(void *arg)
{
	int id = *(int *)arg;

	count_part(id);
	SWARM_Barrier();
	if (id == 0)
		compute_places();
	SWARM_Barrier();
	move_part(id);
	return NULL;
}

/* The argument is the number of elements of each thread. */
int main(int argc, char **argv)
{
	static int ids[THREADS] = { 0, 1 };
	pthread_t threads[THREADS];

	if (argc > 1)
		part = atoi(argv[1]);
	if (part > MAX_PART || part % 2 != 0)
		return 2;
	for (int i = 0; i < THREADS * part; i++)
		input[i] = i % 2 == 0;
	pthread_barrier_init(&barrier, NULL, THREADS);
	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, radix_sort, &ids[i]);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	pthread_barrier_destroy(&barrier);

	for (int i = 0; i < THREADS * part; i++)
		assert(output[i] == (i < part ? 0 : 1));
	return 0;
}
