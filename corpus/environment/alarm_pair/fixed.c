/*
 * The fixed twin of alarm_pair.c: the alarm is blocked while the pair is changed.
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
	change();
	pthread_sigmask(SIG_UNBLOCK, &alarms, NULL);
	pthread_join(waker, NULL);
	while (!rang)
		usleep(100000);
	return 0;
}
