/*
 * timer_signal: a job takes 10 ms; a timer of 20 ms, which raises a signal, watches over it.
 *
 * Written for this corpus.
 *
 * Bug: main takes it for granted that a job of 10 ms is not overtaken by a timer of 20. It is
 * if main is late.
 * Natively: 0 of 200 runs.
 */
#include <assert.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <time.h>

static atomic_bool expired;
static bool done;

static void on_timer(int number)
{
	(void)number;
	expired = true;
}

static void job(void)
{
	struct timespec left = { .tv_nsec = 10000000L };

	while (nanosleep(&left, &left) != 0)
		;
	done = true;
}

int main(void)
{
	struct sigaction action = { .sa_handler = on_timer };
	struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1 };
	struct itimerspec limit = { .it_value = { .tv_nsec = 20000000L } };
	timer_t watchdog;

	sigaction(SIGUSR1, &action, NULL);
	if (timer_create(CLOCK_MONOTONIC, &event, &watchdog) != 0)
		return 0;
	timer_settime(watchdog, 0, &limit, NULL);
	job();
	timer_delete(watchdog);
	assert(!expired);
	assert(done);
	return 0;
}
