/*
 * symbiosis-4: figure 4 of the Symbiosis paper, the program that shows why
 * context switches are reduced before projecting: a failing schedule that
 * interleaves finely shows differences in the data flow of x, y and z, but
 * only that of x matters.
 *
 * Bug (data race): T2 stores x = 0 between T1's x = 1 and its assertion.
 */
#include <assert.h>
#include <pthread.h>

static int x = 1, y, z;
static int seen_y, seen_z; /* what the other thread's variable held */

static void *T1(void *arg)
{
	(void)arg;
	x = 1;
	y = 1;
	seen_z = z;
	assert(x != 0);
	return NULL;
}

static void *T2(void *arg)
{
	(void)arg;
	x = 0;
	seen_y = y;
	z = 1;
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
