/*
 * locked_farewell: main waits for its worker with the lock held that the worker needs.
 *
 * Written for this corpus.
 *
 * Bug (deadlock): main has the lock and waits for the end of the worker, the worker waits for
 * the lock. Passes when the worker is done before main takes the lock.
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
	pthread_join(thread, NULL);
	int counted = entries;
	pthread_mutex_unlock(&books);
	return counted == 2 ? 0 : 1;
}
