/*
 * sigwait_mask: one thread receives the signals of the process with sigwait; for that they
 * have to be blocked in all threads.
 *
 * Written for this corpus: a thread for signals.
 *
 * Bug: main creates a worker before it blocks SIGUSR1. The signal, sent to the process, may
 * go to the worker, whose handler does nothing; then the thread in sigwait, and main, which
 * joins it, wait for ever.
 * Natively: 35 of 40 runs hang.
 */
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stddef.h>
#include <unistd.h>

static sem_t finish;

static void ignore(int number)
{
	(void)number;
}

static void *work(void *arg)
{
	while (sem_wait(&finish) != 0)
		;
	return arg;
}

static void *receive(void *arg)
{
	int number;

	sigwait(arg, &number);
	return NULL;
}

int main(void)
{
	struct sigaction action = { .sa_handler = ignore };
	pthread_t worker, receiver;
	sigset_t signals;

	sem_init(&finish, 0, 0);
	sigaction(SIGUSR1, &action, NULL);
	sigemptyset(&signals);
	sigaddset(&signals, SIGUSR1);
	pthread_create(&worker, NULL, work, NULL);
	pthread_sigmask(SIG_BLOCK, &signals, NULL);
	pthread_create(&receiver, NULL, receive, &signals);
	kill(getpid(), SIGUSR1);
	pthread_join(receiver, NULL);
	sem_post(&finish);
	pthread_join(worker, NULL);
	sem_destroy(&finish);
	return 0;
}
