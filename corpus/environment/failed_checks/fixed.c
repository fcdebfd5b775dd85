/*
 * The fixed twin of failed_checks.c: the counter is incremented in one piece.
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
	counter++;
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
