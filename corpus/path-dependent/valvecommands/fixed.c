/*
 * The fixed twin of valvecommands.c: the watcher tests and lowers the level in
 * one critical section, and the controller swaps the valves in one.
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

static void *watch(void *arg)
{
	(void)arg;
	pthread_mutex_lock(&lock);
	assert(first_open + second_open < 2);
	if (level > 0)
		level--;
	pthread_mutex_unlock(&lock);
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
