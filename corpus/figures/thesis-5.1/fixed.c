/*
 * The fixed twin of thesis-5.1.c: the two threads exclude each other.
 */
#include <assert.h>
#include <pthread.h>

static int x, y, z, w;
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;

static void *T1(void *arg)
{
	(void)arg;
	pthread_mutex_lock(&m);
	if (z > 0) /* 1 */
		w++; /* 2 */
	x = 1; /* 3 */
	y = 1; /* 4 */
	if (y == 0) /* 5 */
		x--; /* 6 */
	assert(x > 0); /* 7 */
	pthread_mutex_unlock(&m);
	return NULL;
}

static void *T2(void *arg)
{
	(void)arg;
	pthread_mutex_lock(&m);
	z = 1; /* 8 */
	if (w > 0) /* 9 */
		y = 0; /* 10 */
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
