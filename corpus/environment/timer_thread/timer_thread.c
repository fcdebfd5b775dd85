/*
 * timer_thread: a timer of 10 ms runs its callback in a thread of its own; main sleeps for
 * 10 ms too, deletes the timer and frees what the callback uses.
 *
 * Written for this corpus.
 *
 * Bug (order violation): timer_delete stops the timer, not a callback that has begun. Both
 * wake at the same moment, and the callback may come last.
 * Natively: 60 of 200 runs, by the address sanitizer; without it nothing shows.
 */
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

struct tick {
	atomic_int count;
};

static void on_timer(union sigval value)
{
	struct tick *tick = value.sival_ptr;

	tick->count++;
}

int main(void)
{
	struct tick *tick = calloc(1, sizeof *tick);
	struct sigevent event = { .sigev_notify = SIGEV_THREAD };
	struct itimerspec soon = { .it_value = { .tv_nsec = 10000000L } };
	timer_t timer;

	if (!tick)
		return 0;
	event.sigev_notify_function = on_timer;
	event.sigev_value.sival_ptr = tick;
	if (timer_create(CLOCK_MONOTONIC, &event, &timer) != 0)
		return 0;
	timer_settime(timer, 0, &soon, NULL);
	usleep(10000);
	timer_delete(timer);
	free(tick);
	usleep(10000);
	return 0;
}
