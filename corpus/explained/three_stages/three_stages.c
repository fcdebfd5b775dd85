/*
 * three_stages: a value goes from the intake through the filter to the outlet, each a thread of
 * its own; main demands at the end that all of them have it.
 *
 * Written for this corpus, after the shape of a token ring in SCTBench.
 *
 * Bug (order violation): nobody waits for the stage before. Fails when the filter reads the
 * intake too early, or the outlet the filter: one order does not keep it away, both do.
 */
#include <assert.h>
#include <pthread.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int intake = 1;
static int filter = 2;
static int outlet = 3;

static void *fill_intake(void *unused)
{
	pthread_mutex_lock(&lock);
	intake = 7;
	pthread_mutex_unlock(&lock);
	return unused;
}

static void *fill_filter(void *unused)
{
	pthread_mutex_lock(&lock);
	filter = intake;
	pthread_mutex_unlock(&lock);
	return unused;
}

static void *fill_outlet(void *unused)
{
	pthread_mutex_lock(&lock);
	outlet = filter;
	pthread_mutex_unlock(&lock);
	return unused;
}

int main(void)
{
	pthread_t stages[3];
	pthread_create(&stages[0], NULL, fill_intake, NULL);
	pthread_create(&stages[1], NULL, fill_filter, NULL);
	pthread_create(&stages[2], NULL, fill_outlet, NULL);
	for (int i = 0; i < 3; i++)
		pthread_join(stages[i], NULL);
	assert(intake == filter && filter == outlet);
	return 0;
}
