/*
 * failed_checks: a test of a counter, whose main returns the number of checks that failed.
 *
 * Written for this corpus: a test's own main.
 *
 * Bug (atomicity violation): the counter is read and written apart, and one of two counts
 * can be lost. Then one check fails and the test returns 1; mostly it returns 0.
 * Natively: 0 of 200 runs.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

static atomic_int counter;
static int failed;

static void check(int holds, const char *what)
{
	if (!holds) {
		printf("FAILED: %s\n", what);
		failed++;
	}
}

static void *count(void *arg)
{
	int value = counter;
	counter = value + 1;
	return arg;
}

int main(void)
{
	pthread_t threads[2];

	for (int i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, count, NULL);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	check(counter >= 1, "something was counted");
	check(counter == 2, "everything was counted");
	return failed;
}
