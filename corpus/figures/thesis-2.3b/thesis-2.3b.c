/*
 * thesis-2.3b: figure 2.3.b of the thesis on cooperative concurrency
 * debugging: a race condition without a data race.
 *
 * Bug (atomicity violation): as in figure 2.3.a T1 stores x = 1 and expects
 * x > 0, and T2 stores x = 0 in between. Every access holds the lock, but T1
 * releases it between the store and the test.
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
	pthread_mutex_unlock(&l);

	pthread_mutex_lock(&l);
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
