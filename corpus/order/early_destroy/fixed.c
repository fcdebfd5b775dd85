/*
 * The fixed twin of early_destroy.c: the lock is destroyed when all writers have ended.
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
	for (int i = 0; i < WRITERS; i++)
		pthread_join(writers[i], NULL);
	pthread_mutex_destroy(&log_lock);
	assert(lines == WRITERS);
	return 0;
}
