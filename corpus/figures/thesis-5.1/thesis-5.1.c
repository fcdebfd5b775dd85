/*
 * thesis-5.1: figure 5.1 of the thesis on cooperative concurrency debugging
 * (Cortex), a bug that depends on the path and on the schedule. Numbers are
 * the figure's lines.
 *
 * Bug: the schedule 8-1-2-3-4-9-10-5-6-7 fails: T2 sets z before T1 tests it,
 * T1 increments w before T2 tests that, and T2 sets y = 0 between T1's
 * assignment of y and its test, so that T1 decrements x to 0. All runs that
 * pass skip line 6. The authors ran it 10,000 times without a failure.
 */
#include <assert.h>
#include <pthread.h>

static int x, y, z, w;

static void *T1(void *arg)
{
	(void)arg;
	if (z > 0) /* 1 */
		w++; /* 2 */
	x = 1; /* 3 */
	y = 1; /* 4 */
	if (y == 0) /* 5 */
		x--; /* 6 */
	assert(x > 0); /* 7 */
	return NULL;
}

static void *T2(void *arg)
{
	(void)arg;
	z = 1; /* 8 */
	if (w > 0) /* 9 */
		y = 0; /* 10 */
	return NULL;
}

int main(void)
{
	pthread_t t1, t2;

	pthread_create(&t1, NULL, T1, NULL);
	pthread_create(&t2, NULL, T2, NULL);
	pthread_join(t1, NULL);
	pthread_join(t2, NULL);
	return 0;
}
