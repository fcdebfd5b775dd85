/*
 * stop_flag_busy: a worker counts as fast as it can until main, after a second, sets a
 * stop flag.
 *
 * Written for this corpus: a worker that runs until it is told to stop.
 *
 * Bug (order violation): main frees the counter right after it has set the flag. The
 * worker, between its test of the flag and its next count, counts in free memory. The
 * worker never waits: time has to pass while it computes, as it does on any machine.
 * Natively: 4 of 10 runs, by the address sanitizer; without it nothing shows.
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
	free(counter);
	pthread_join(worker, NULL);
	return 0;
}
