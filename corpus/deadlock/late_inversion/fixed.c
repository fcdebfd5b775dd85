/*
 * late_inversion, repaired: everybody takes the journal's lock first.
 */
#include <pthread.h>
#include <stddef.h>

#define ENTRIES 60

static pthread_mutex_t journal_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t index_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t stats_lock = PTHREAD_MUTEX_INITIALIZER;
static int entries, closed, checked, reads;

static void *writer(void *arg)
{
	(void)arg;
	for (int i = 0; i < ENTRIES; i++) {
		pthread_mutex_lock(&stats_lock);
		entries++;
		pthread_mutex_unlock(&stats_lock);
	}
	pthread_mutex_lock(&journal_lock);
	pthread_mutex_lock(&index_lock);
	closed = 1;
	pthread_mutex_unlock(&index_lock);
	pthread_mutex_unlock(&journal_lock);
	return NULL;
}

static void *checker(void *arg)
{
	(void)arg;
	pthread_mutex_lock(&journal_lock);
	pthread_mutex_lock(&index_lock);
	checked = closed;
	pthread_mutex_unlock(&index_lock);
	pthread_mutex_unlock(&journal_lock);
	for (int i = 0; i < ENTRIES; i++) {
		pthread_mutex_lock(&stats_lock);
		reads = entries;
		pthread_mutex_unlock(&stats_lock);
	}
	return NULL;
}

int main(void)
{
	pthread_t threads[2];

	pthread_create(&threads[0], NULL, writer, NULL);
	pthread_create(&threads[1], NULL, checker, NULL);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
