/*
 * The fixed twin of thesis-2.3a.c: T1's store and test are one critical section.
 */
#include <assert.h>
#include <pthread.h>

static int x;
static pthread_mutex_t l = PTHREAD_MUTEX_INITIALIZER;

static void *T1(void *arg)
{
	(void)arg;
	pthread_mutex_lock(&l);
	x = 1;
	assert(x > 0);
	pthread_mutex_unlock(&l);
	return NULL;
}

static void *T2(void *arg)
{
	(void)arg;
	pthread_mutex_lock(&l);
	x = 0;
	pthread_mutex_unlock(&l);
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
