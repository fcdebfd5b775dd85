/*
 * The fixed twin of tinertia-1.c: thread 1 sets the flag when it has done with x.
 */
#include <assert.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

static atomic_int flag;
static atomic_int x;

static void error(void)
{
	assert(!"error");
}

static void *thread1(void *arg)
{
	(void)arg;
	x = 1;
	if (x == 3)
		error();
	flag = 1;
	return NULL;
}

static void *thread2(void *arg)
{
	(void)arg;
	while (!flag)
		sched_yield(); /* sleep() in the figure */
	x = 3;
	flag = 0;
	return NULL;
}

int main(void)
{
	pthread_t t1, t2;

	pthread_create(&t1, NULL, thread1, NULL);
	pthread_create(&t2, NULL, thread2, NULL);
	pthread_join(t1, NULL);
	pthread_join(t2, NULL);
	return 0;
}
