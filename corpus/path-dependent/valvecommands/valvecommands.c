/*
 * valvecommands: a controller obeys one command while a watcher looks at the
 * valve and at the tank beside it.
 *
 * Ours, for causes behind inputs; modelled on services whose commands have
 * handlers of different quality.
 *
 * Two bugs, each behind commands of its own. A negative command drains the tank:
 * the watcher tests the level in one critical section and lowers it in another
 * (check then act). The command SWAP opens the second valve before it closes the
 * first, in two critical sections: between them both are open (broken
 * invariant). All other commands are handled well.
 */
#include <assert.h>
#include <pthread.h>
#include <stddef.h>

#define SWAP 4711

extern int __VERIFIER_nondet_int(void);

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int level = 1;
static int first_open = 1;
static int second_open;

static int filled(void)
{
	pthread_mutex_lock(&lock);
	int now = level;
	pthread_mutex_unlock(&lock);
	return now > 0;
}

static void *watch(void *arg)
{
	(void)arg;
	pthread_mutex_lock(&lock);
	assert(first_open + second_open < 2);
	pthread_mutex_unlock(&lock);
	if (filled()) {
		pthread_mutex_lock(&lock);
		assert(level > 0);
		level--;
		pthread_mutex_unlock(&lock);
	}
	return NULL;
}

static void *control(void *arg)
{
	const int *command = arg;

	if (*command < 0) {
		pthread_mutex_lock(&lock);
		level = 0;
		pthread_mutex_unlock(&lock);
	} else if (*command == SWAP) {
		pthread_mutex_lock(&lock);
		second_open = 1;
		pthread_mutex_unlock(&lock);
		pthread_mutex_lock(&lock);
		first_open = 0;
		pthread_mutex_unlock(&lock);
	}
	return NULL;
}

int main(void)
{
	pthread_t threads[2];
	int command = __VERIFIER_nondet_int();

	pthread_create(&threads[0], NULL, watch, NULL);
	pthread_create(&threads[1], NULL, control, &command);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
