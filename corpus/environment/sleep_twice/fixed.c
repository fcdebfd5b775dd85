/*
 * The fixed twin of sleep_twice.c: if it is not ready at the second look either, main
 * waits for its end.
 */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <unistd.h>

static atomic_bool ready;

static void *prepare(void *arg)
{
	usleep(10000);
	ready = true;
	return arg;
}

int main(void)
{
	pthread_t preparing;

	pthread_create(&preparing, NULL, prepare, NULL);
	for (int look = 0; look < 2 && !ready; look++)
		usleep(50000);
	pthread_join(preparing, NULL);
	assert(ready);
	return 0;
}
