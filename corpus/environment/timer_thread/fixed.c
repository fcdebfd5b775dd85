/*
 * The fixed twin of timer_thread.c: main waits until the callback is done.
 */
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static sem_t ticked;

struct tick {
	atomic_int count;
};

static void on_timer(union sigval value)
{
	struct tick *tick = value.sival_ptr;

	tick->count++;
	sem_post(&ticked);
}

int main(void)
{
	struct tick *tick = calloc(1, sizeof *tick);
	struct sigevent event = { .sigev_notify = SIGEV_THREAD };
	struct itimerspec soon = { .it_value = { .tv_nsec = 10000000L } };
	timer_t timer;

	sem_init(&ticked, 0, 0);
	if (!tick)
		return 0;
	event.sigev_notify_function = on_timer;
	event.sigev_value.sival_ptr = tick;
	if (timer_create(CLOCK_MONOTONIC, &event, &timer) != 0)
		return 0;
	timer_settime(timer, 0, &soon, NULL);
	usleep(10000);
	while (sem_wait(&ticked) != 0)
		;
	timer_delete(timer);
	free(tick);
	return 0;
}
