/*
 * The fixed twin of timer_signal.c: main does not mind a timer that has run out as long as the job is done.
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
	assert(done);
	return 0;
}
