/*
 * thesis-2.3a: figure 2.3.a of the thesis on cooperative concurrency
 * debugging: a race condition that is a data race.
 *
 * Bug (atomicity violation): T1 stores x = 1 and expects x > 0; T2 stores
 * x = 0 in between, without any lock.
 */
#include <assert.h>
#include <pthread.h>

static int x;

static void *T1(void *arg)
{
	(void)arg;
	x = 1;
	assert(x > 0);
	return NULL;
}

static void *T2(void *arg)
{
	(void)arg;
	x = 0;
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
