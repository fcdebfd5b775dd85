/*
 * exmcr: three threads, each a loop of two rounds, over two variables.
 *
 * Modelled on ExMCR, the example that Huang's paper on maximal causality
 * reduction (MCR, PLDI 2015) made hard for systematic testing, as studied by
 * Cortex (table 5.1 and 5.3: 6 attempts, MCR 46, bounded DPOR 3782) and by the
 * MaxSMT paper.
 *
 * Bug: check() must find x > 1 and y == 3. For that publish() runs between the
 * reset and the test of bump() in both rounds, check() gets past its first test
 * but stores y = 2 only after the second y = 1 of publish(), and bump() then
 * raises y from 2 to 3 before the second round of check().
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
		pthread_mutex_unlock(&l);
		if (x > 0) {
			y++;
			x = 2;
		}
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
