/*
 * The fixed twin of maxsmt-1.c: T4 and T5 start when T2 and T3 have finished.
 */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

static atomic_int x = 0;
static int y = 1;
static int z = -1;

static void *T2(void *arg)
{
	(void)arg;
	int add = y;
	atomic_fetch_add(&x, add); /* T2.1: x = x + y */
	return NULL;
}

static void *T3(void *arg)
{
	(void)arg;
	int add = z;
	atomic_fetch_add(&x, add); /* T3.1: x = x + z */
	return NULL;
}

static void *T4(void *arg)
{
	(void)arg;
	y = y + 1; /* T4.1 */
	return NULL;
}

static void *T5(void *arg)
{
	(void)arg;
	z = z + 1; /* T5.1 */
	return NULL;
}

int main(void)
{
	pthread_t t2, t3, t4, t5;

	pthread_create(&t2, NULL, T2, NULL);
	pthread_create(&t3, NULL, T3, NULL);
	pthread_join(t2, NULL);
	pthread_join(t3, NULL);
	pthread_create(&t4, NULL, T4, NULL);
	pthread_create(&t5, NULL, T5, NULL);
	pthread_join(t4, NULL);
	pthread_join(t5, NULL);
	assert(x == 0);
	return 0;
}
