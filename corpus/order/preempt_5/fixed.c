/*
 * The fixed twin of preempt_5.c: a runner makes all its attempts in one critical
 * section, so the baton gets no further than three legs.
 */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

static pthread_mutex_t track = PTHREAD_MUTEX_INITIALIZER;
static atomic_int baton;

/* Whether the baton was there for this leg. */
static bool run_leg(int leg)
{
	return atomic_compare_exchange_strong(&baton, &leg, leg + 1);
}

static void *runner_a(void *arg)
{
	(void)arg;
	pthread_mutex_lock(&track);
	run_leg(0);
	run_leg(3);
	run_leg(6);
	pthread_mutex_unlock(&track);
	return NULL;
}

static void *runner_b(void *arg)
{
	(void)arg;
	pthread_mutex_lock(&track);
	run_leg(1);
	run_leg(4);
	bool last = run_leg(7);
	assert(!last);
	pthread_mutex_unlock(&track);
	return NULL;
}

static void *runner_c(void *arg)
{
	(void)arg;
	pthread_mutex_lock(&track);
	run_leg(2);
	run_leg(5);
	pthread_mutex_unlock(&track);
	return NULL;
}

int main(void)
{
	pthread_t a, b, c;

	pthread_create(&a, NULL, runner_a, NULL);
	pthread_create(&b, NULL, runner_b, NULL);
	pthread_create(&c, NULL, runner_c, NULL);
	pthread_join(a, NULL);
	pthread_join(b, NULL);
	pthread_join(c, NULL);
	return 0;
}
