/*
 * The fixed twin of handler_lock.c: the handler only leaves a note, in an atomic variable.
 */
#include <assert.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int counted;
static atomic_int asked;

static void on_signal(int number)
{
	(void)number;
	asked++;
}

static void *work(void *arg)
{
	pthread_mutex_lock(&lock);
	counted++;
	pthread_mutex_unlock(&lock);
	return arg;
}

int main(void)
{
	struct sigaction action = { .sa_handler = on_signal };
	pthread_t worker;

	sigaction(SIGUSR1, &action, NULL);
	pthread_create(&worker, NULL, work, NULL);
	pthread_kill(worker, SIGUSR1);
	pthread_join(worker, NULL);
	assert(counted == 1 && asked <= 1);
	return 0;
}
