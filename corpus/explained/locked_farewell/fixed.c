/*
 * The fixed twin of locked_farewell.c: main gives the lock back before it waits.
 */
#include <pthread.h>

static pthread_mutex_t books = PTHREAD_MUTEX_INITIALIZER;
static int entries;

static void *worker(void *unused)
{
	pthread_mutex_lock(&books);
	entries++;
	pthread_mutex_unlock(&books);
	return unused;
}

int main(void)
{
	pthread_t thread;
	pthread_create(&thread, NULL, worker, NULL);
	pthread_mutex_lock(&books);
	entries++;
	pthread_mutex_unlock(&books);
	pthread_join(thread, NULL);
	return entries == 2 ? 0 : 1;
}
