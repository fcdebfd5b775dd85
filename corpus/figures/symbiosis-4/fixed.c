/*
 * The fixed twin of symbiosis-4.c: the two threads exclude each other, so T1
 * sees its own x.
 */
#include <assert.h>
#include <pthread.h>

static int x = 1, y, z;
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static int seen_y, seen_z; /* what the other thread's variable held */

static void *T1(void *arg)
{
	(void)arg;
	pthread_mutex_lock(&m);
	x = 1;
	y = 1;
	seen_z = z;
	assert(x != 0);
	pthread_mutex_unlock(&m);
	return NULL;
}

static void *T2(void *arg)
{
	(void)arg;
	pthread_mutex_lock(&m);
	x = 0;
	seen_y = y;
	z = 1;
	pthread_mutex_unlock(&m);
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
