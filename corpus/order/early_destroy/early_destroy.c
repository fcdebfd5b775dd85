/*
 * early_destroy: a logger writes lines with a lock; main closes the log when it has
 * started the writers.
 *
 * Written for this corpus.
 *
 * Bug (early free): main destroys the lock and then waits for the writers. Fails when a
 * writer takes the lock after it was destroyed.
 */
#include <assert.h>
#include <pthread.h>
#include <stddef.h>

#define WRITERS 2

static pthread_mutex_t log_lock;
static int lines;

static void *writer(void *arg)
{
	pthread_mutex_lock(&log_lock);
	lines++;
	pthread_mutex_unlock(&log_lock);
	return arg;
}

int main(void)
{
	pthread_t writers[WRITERS];

	pthread_mutex_init(&log_lock, NULL);
	for (int i = 0; i < WRITERS; i++)
		pthread_create(&writers[i], NULL, writer, NULL);
	pthread_mutex_destroy(&log_lock);
	for (int i = 0; i < WRITERS; i++)
		pthread_join(writers[i], NULL);
	assert(lines == WRITERS);
	return 0;
}
