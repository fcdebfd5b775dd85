/*
 * The fixed twin of pause_race.c: the signal is blocked but for the wait itself.
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
	sigset_t none;

	sigemptyset(&none);
	while (!stop)
		sigsuspend(&none);
	return arg;
}

int main(void)
{
	struct sigaction action = { .sa_handler = on_signal };
	pthread_t worker;

	sigaction(SIGUSR1, &action, NULL);
	sigset_t signals;

	sigemptyset(&signals);
	sigaddset(&signals, SIGUSR1);
	pthread_sigmask(SIG_BLOCK, &signals, NULL);
	pthread_create(&worker, NULL, work, NULL);
	pthread_kill(worker, SIGUSR1);
	pthread_join(worker, NULL);
	return 0;
}
