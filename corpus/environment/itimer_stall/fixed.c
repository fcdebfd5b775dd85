/*
 * The fixed twin of itimer_stall.c: the alarm is blocked while both are changed.
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
	sigset_t alarms;

	sigaction(SIGALRM, &action, NULL);
	sigemptyset(&alarms);
	sigaddset(&alarms, SIGALRM);
	sigprocmask(SIG_BLOCK, &alarms, NULL);
	setitimer(ITIMER_REAL, &timer, NULL);
	first = 1;
	second = 1;
	sigprocmask(SIG_UNBLOCK, &alarms, NULL);
	while (!rang)
		usleep(50000);
	return 0;
}
