/*
 * thesis-2.1: figure 2.1 of the thesis on cooperative concurrency debugging:
 * two threads compete for a region that only one of them should enter, guarded
 * by the variable `free`.
 *
 * Bug (execution 1 of the figure): both threads test `free` while it is true,
 * and both enter. In execution 2, which passes, one of them sees false.
 */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>

static bool is_free = true; /* `free` in the figure */
static atomic_int entered;

static void *run(void *arg)
{
	const char *name = arg;

	if (is_free) {
		is_free = false;
		printf("%s enters\n", name);
		entered++;
	}
	return NULL;
}

int main(void)
{
	pthread_t t1, t2;

	pthread_create(&t1, NULL, run, "T1");
	pthread_create(&t2, NULL, run, "T2");
	pthread_join(t1, NULL);
	pthread_join(t2, NULL);
	assert(entered == 1);
	return 0;
}
