/*
 * The fixed twin of clock_spin.c: after the spin, main looks at the flag and waits if need be.
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
	if (!flag)
		pthread_join(setter, NULL);
	assert(flag);
	return 0;
}
