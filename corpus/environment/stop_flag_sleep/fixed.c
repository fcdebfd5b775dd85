/*
 * The fixed twin of stop_flag_sleep.c: the queue is freed after the worker has ended.
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
	pthread_join(worker, NULL);
	free(queue);
	return 0;
}
