/*
 * stop_flag_sleep: a worker does something every 250 ms until main, after a second, sets a
 * stop flag.
 *
 * Written for this corpus: a worker that runs until it is told to stop.
 *
 * Bug (order violation): main frees the queue at once. Unless the worker is just awake and sees
 * the flag in time, it uses the queue once more, at that moment or 250 ms later.
 * Natively: 20 of 20 runs, by the address sanitizer; without it nothing shows.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

struct queue {
	int handled;
};

static atomic_bool stop;

static void *work(void *arg)
{
	struct queue *queue = arg;

	while (!stop) {
		usleep(250000);
		queue->handled++;
	}
	return NULL;
}

int main(void)
{
	struct queue *queue = calloc(1, sizeof *queue);
	pthread_t worker;

	if (!queue)
		return 0;
	pthread_create(&worker, NULL, work, queue);
	sleep(1);
	stop = true;
	free(queue);
	pthread_join(worker, NULL);
	return 0;
}
