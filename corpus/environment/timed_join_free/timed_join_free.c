/*
 * timed_join_free: a worker needs 50 ms for its job; main waits for its end for 100 ms.
 *
 * Written for this corpus.
 *
 * Bug (order violation): when pthread_timedjoin_np times out, main frees the job that the
 * worker still writes to. The worker wakes long before the limit, so the limit has to
 * pass while it could run.
 * Natively: 0 of 200 runs.
 */
#define _GNU_SOURCE
#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

struct job {
	int result;
};

static struct timespec in_ms(long ms)
{
	struct timespec at;

	clock_gettime(CLOCK_REALTIME, &at);
	at.tv_sec += ms / 1000;
	at.tv_nsec += ms % 1000 * 1000000L;
	if (at.tv_nsec >= 1000000000L) {
		at.tv_sec++;
		at.tv_nsec -= 1000000000L;
	}
	return at;
}

static void *work(void *arg)
{
	struct job *job = arg;

	usleep(50000);
	job->result = 1;
	return NULL;
}

int main(void)
{
	struct job *job = calloc(1, sizeof *job);
	struct timespec limit;
	pthread_t worker;

	if (!job)
		return 0;
	pthread_create(&worker, NULL, work, job);
	limit = in_ms(100);
	if (pthread_timedjoin_np(worker, NULL, &limit) != 0) {
		free(job);
		pthread_join(worker, NULL);
		return 0;
	}
	assert(job->result == 1);
	free(job);
	return 0;
}
