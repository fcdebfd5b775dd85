/*
 * The fixed twin of exmcr.c: bump() keeps the lock from the reset of x to the
 * test of x, which therefore never succeeds.
 */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

static int rounds = 2;
static atomic_int x, y;
static pthread_mutex_t l = PTHREAD_MUTEX_INITIALIZER;

static void *publish(void *arg)
{
	(void)arg;
	for (int i = 0; i < rounds; i++) {
		pthread_mutex_lock(&l);
		x = 1;
		y = 1;
		pthread_mutex_unlock(&l);
	}
	return NULL;
}

static void *bump(void *arg)
{
	(void)arg;
	for (int i = 0; i < rounds; i++) {
		pthread_mutex_lock(&l);
		x = 0;
		if (x > 0) {
			y++;
			x = 2;
		}
		pthread_mutex_unlock(&l);
	}
	return NULL;
}

static void *check(void *arg)
{
	(void)arg;
	for (int i = 0; i < rounds; i++) {
		if (x > 1) {
			assert(y != 3);
			y = 2;
		}
	}
	return NULL;
}

/* The argument is the number of rounds of each thread. */
int main(int argc, char **argv)
{
	pthread_t threads[3];

	if (argc > 1)
		rounds = atoi(argv[1]);
	pthread_create(&threads[0], NULL, publish, NULL);
	pthread_create(&threads[1], NULL, bump, NULL);
	pthread_create(&threads[2], NULL, check, NULL);
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
