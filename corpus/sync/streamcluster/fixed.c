/*
 * The fixed twin of streamcluster.c: all threads wait until the work memory is
 * allocated.
 */
#include <assert.h>
#include <pthread.h>
#include <stdlib.h>

#define THREADS 2
#define POINTS 2 /* per thread */

static const int points[THREADS * POINTS] = { 1, 4, 2, 3 };
static int *work_mem; /* one entry a thread */
static int gl_gain;
static int candidates = 1; /* for a centre, one after the other */
static pthread_barrier_t barrier;

static int cost_of(int pid)
{
	int cost = 0;

	for (int i = pid * POINTS; i < (pid + 1) * POINTS; i++)
		cost += points[i];
	return cost;
}

/* All threads call it together, as a team. */
static void pgain(int pid, int left)
{
	if (pid == 0 && left == 0)
		work_mem = calloc(THREADS, sizeof *work_mem);
	pthread_barrier_wait(&barrier);

	work_mem[pid] = cost_of(pid);
	pthread_barrier_wait(&barrier);

	if (pid == 0) {
		gl_gain = 0;
		for (int t = 0; t < THREADS; t++)
			gl_gain += work_mem[t];
		if (left < 2) {
			free(work_mem);
			work_mem = NULL;
		}
	}
	pthread_barrier_wait(&barrier);
}

static void *localSearch(void *arg)
{
	int pid = *(int *)arg;

	for (int left = candidates - 1; left >= 0; left--)
		pgain(pid, left);
	return NULL;
}

/* The argument is the number of candidates. */
int main(int argc, char **argv)
{
	static int pids[THREADS] = { 0, 1 };
	pthread_t threads[THREADS];

	if (argc > 1)
		candidates = atoi(argv[1]);
	if (candidates > 1)
		work_mem = calloc(THREADS, sizeof *work_mem);
	pthread_barrier_init(&barrier, NULL, THREADS);
	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, localSearch, &pids[i]);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	pthread_barrier_destroy(&barrier);
	assert(gl_gain == 10);
	return 0;
}
