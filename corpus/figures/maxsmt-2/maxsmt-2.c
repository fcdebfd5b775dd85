/*
 * maxsmt-2: figure 2 of the MaxSMT paper, a bug that depends on the path and
 * on the schedule. Line numbers of the figure are given as T1.1 etc.
 *
 * Bug (figure 3): T2 sets z before T1 tests it, so that T1 increments w; T3
 * finds w > 0 and sets y = 0 between T1's assignment of y and its test. T1
 * then decrements x to 0. Runs that pass skip T1.6, that is, take another
 * branch; or, which the paper does not mention, T2.2 comes between T1.3 and
 * T1.6 and makes x 2 first.
 */
#include <assert.h>
#include <pthread.h>

static int x, y, z, w;

static void *T1(void *arg)
{
	(void)arg;
	if (z > 0) /* T1.1 */
		w++; /* T1.2 */
	x = 1; /* T1.3 */
	y = 1; /* T1.4 */
	if (y == 0) /* T1.5 */
		x = x - 1; /* T1.6 */
	assert(x > 0); /* T1.7 */
	return NULL;
}

static void *T2(void *arg)
{
	(void)arg;
	z = 1; /* T2.1 */
	x = x + 1; /* T2.2 */
	y = y + 1; /* T2.3 */
	return NULL;
}

static void *T3(void *arg)
{
	(void)arg;
	if (w > 0) /* T3.1 */
		y = 0; /* T3.2 */
	return NULL;
}

int main(void)
{
	pthread_t t1, t2, t3;

	pthread_create(&t1, NULL, T1, NULL);
	pthread_create(&t2, NULL, T2, NULL);
	pthread_create(&t3, NULL, T3, NULL);
	pthread_join(t1, NULL);
	pthread_join(t2, NULL);
	pthread_join(t3, NULL);
	return 0;
}
