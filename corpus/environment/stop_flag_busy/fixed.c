/*
 * The fixed twin of stop_flag_busy.c: the counter is freed after the worker has ended.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

struct counter {
	atomic_long value;
};

static atomic_bool stop;

static void *count(void *arg)
{
	struct counter *counter = arg;

	while (!stop)
		counter->value++;
	return NULL;
}

int main(void)
{
	struct counter *counter = calloc(1, sizeof *counter);
	pthread_t worker;

	if (!counter)
		return 0;
	pthread_create(&worker, NULL, count, counter);
	sleep(1);
	stop = true;
	pthread_join(worker, NULL);
	free(counter);
	return 0;
}
