/*
 * pause_race: a worker waits for signals until one of them has told it to stop.
 *
 * Written for this corpus: the race that sigsuspend is for.
 *
 * Bug (atomicity violation of test and wait): between the test of the flag and pause() the
 * signal comes, its handler sets the flag, and nothing wakes the worker from its pause.
 * Natively: 0 of 200 runs.
 */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <unistd.h>

static atomic_bool stop;

static void on_signal(int number)
{
	(void)number;
	stop = true;
}

static void *work(void *arg)
{
	while (!stop)
		pause();
	return arg;
}

int main(void)
{
	struct sigaction action = { .sa_handler = on_signal };
	pthread_t worker;

	sigaction(SIGUSR1, &action, NULL);
	pthread_create(&worker, NULL, work, NULL);
	pthread_kill(worker, SIGUSR1);
	pthread_join(worker, NULL);
	return 0;
}
