/*
 * The fixed twin of thesis-2.1.c, which is figure 2.2 of the thesis: test and
 * assignment happen under a lock.
 */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>

static bool is_free = true; /* `free` in the figure */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static atomic_int entered;

static void *run(void *arg)
{
	const char *name = arg;

	pthread_mutex_lock(&lock);
	if (is_free) {
		is_free = false;
		printf("%s enters\n", name);
		entered++;
	}
	pthread_mutex_unlock(&lock);
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
