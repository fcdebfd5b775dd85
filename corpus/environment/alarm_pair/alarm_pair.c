/*
 * alarm_pair: main changes a pair of numbers, with a write to disk between them that takes
 * a second and a half unless the disk is awake; the handler of an alarm looks at the pair.
 *
 * Written for this corpus.
 *
 * Bug (atomicity violation): the alarm is not blocked while the pair is changed. If the disk
 * is asleep, the change is in progress when the alarm comes, after a second.
 * Natively: 164 of 200 runs.
 */
#include <assert.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <time.h>
#include <unistd.h>

static atomic_int first, second;
static atomic_bool awake, rang;

static void on_alarm(int number)
{
	(void)number;
	assert(first == second);
	rang = true;
}

static void change(void)
{
	struct timespec disk = { .tv_sec = 1, .tv_nsec = 500000000L };

	first++;
	while (!awake && nanosleep(&disk, &disk) != 0)
		;
	second++;
}

static void *wake(void *arg)
{
	awake = true;
	return arg;
}

int main(void)
{
	struct sigaction action = { .sa_handler = on_alarm };
	sigset_t alarms;
	pthread_t waker;

	sigemptyset(&alarms);
	sigaddset(&alarms, SIGALRM);
	sigaction(SIGALRM, &action, NULL);
	pthread_sigmask(SIG_BLOCK, &alarms, NULL);
	pthread_create(&waker, NULL, wake, NULL);
	alarm(1);
	pthread_sigmask(SIG_UNBLOCK, &alarms, NULL);
	change();
	pthread_join(waker, NULL);
	while (!rang)
		usleep(100000);
	return 0;
}
