/*
 * itimer_stall: main starts a timer of 30 ms, changes two numbers, and waits for the timer,
 * whose handler looks at both.
 *
 * Written for this corpus.
 *
 * Bug (atomicity violation): the changes are over long before the timer, unless main is
 * late between them; then the handler sees the one and not the other.
 * Natively: 0 of 200 runs.
 */
#include <assert.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/time.h>
#include <unistd.h>

static atomic_int first, second;
static atomic_bool rang;

static void on_alarm(int number)
{
	(void)number;
	assert(first == second);
	rang = true;
}

int main(void)
{
	struct sigaction action = { .sa_handler = on_alarm };
	struct itimerval timer = { .it_value = { .tv_usec = 30000 } };

	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &timer, NULL);
	first = 1;
	second = 1;
	while (!rang)
		usleep(50000);
	return 0;
}
