/*
 * The fixed twin of time_spin.c: main waits as long, and then for the thread.
 */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <time.h>
#include <unistd.h>

static atomic_int result;

static void *compute(void *arg)
{
	usleep(500000);
	result = 1;
	return arg;
}

int main(void)
{
	time_t end = time(NULL) + 2;
	pthread_t computing;

	pthread_create(&computing, NULL, compute, NULL);
	while (time(NULL) < end)
		;
	pthread_join(computing, NULL);
	assert(result == 1);
	return 0;
}
