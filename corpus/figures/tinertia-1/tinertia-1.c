/*
 * tinertia-1: figure 1 of the Tinertia paper, the program whose buggy trace of
 * figure 2 the paper simplifies step by step (figures 3 to 5).
 *
 * Thread 2 spins until thread 1 sets the flag, then stores 3 to x.
 *
 * Bug (data race on x): thread 2 stores x = 3 after thread 1 stored x = 1 and
 * before thread 1 tests x. The simplest failing trace needs two context
 * switches: after x = 1 to thread 2 and back.
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
	flag = 1;
	x = 1;
	if (x == 3)
		error();
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
