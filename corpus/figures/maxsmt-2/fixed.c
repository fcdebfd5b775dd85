/*
 * The fixed twin of maxsmt-2.c: the three threads exclude each other.
 */
#include <assert.h>
#include <pthread.h>

static int x, y, z, w;
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;

static void *T1(void *arg)
{
	(void)arg;
	pthread_mutex_lock(&m);
	if (z > 0) /* T1.1 */
		w++; /* T1.2 */
	x = 1; /* T1.3 */
	y = 1; /* T1.4 */
	if (y == 0) /* T1.5 */
		x = x - 1; /* T1.6 */
	assert(x > 0); /* T1.7 */
	pthread_mutex_unlock(&m);
	return NULL;
}

static void *T2(void *arg)
{
	(void)arg;
	pthread_mutex_lock(&m);
	z = 1; /* T2.1 */
	x = x + 1; /* T2.2 */
	y = y + 1; /* T2.3 */
	pthread_mutex_unlock(&m);
	return NULL;
}

static void *T3(void *arg)
{
	(void)arg;
	pthread_mutex_lock(&m);
	if (w > 0) /* T3.1 */
		y = 0; /* T3.2 */
	pthread_mutex_unlock(&m);
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
