/*
 * clock_spin: main spins until a flag is set, for at most 20 ms by the clock.
 *
 * Written for this corpus: spin locks that give up after a while.
 *
 * Bug (order violation): the end of the spin is taken for the flag. The other thread only
 * has to set it; if it is late by 20 ms, main goes on without.
 * Natively: 0 of 200 runs.
 */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <time.h>

static atomic_bool flag;

static long now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000L + now.tv_nsec / 1000000L;
}

static void *set(void *arg)
{
	flag = true;
	return arg;
}

int main(void)
{
	pthread_t setter;
	long end;

	pthread_create(&setter, NULL, set, NULL);
	end = now_ms() + 20;
	while (!flag && now_ms() < end)
		;
	assert(flag);
	pthread_join(setter, NULL);
	return 0;
}
