/*
 * The fixed twin of thesis-3.3.c: writer and reader change the two counters under
 * one lock.
 */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

#define SIZE 4

static int array[SIZE];
static int pos, countR, countW;
static atomic_int threads;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *writer(void *arg)
{
	(void)arg;
	threads++;
	pthread_mutex_lock(&lock);
	array[pos] = 42;
	pos++; /* line 4 of the figure */
	countW++; /* line 5 */
	threads--;
	assert(pos == countW); /* line 7 */
	pthread_mutex_unlock(&lock);
	return NULL;
}

static void *reader(void *arg)
{
	(void)arg;
	threads++;
	pthread_mutex_lock(&lock);
	countR = countR + pos;
	pos = 0; /* line 10 */
	countW = 0; /* line 11 */
	pthread_mutex_unlock(&lock);
	threads--;
	return NULL;
}

int main(void)
{
	pthread_t w, r;

	pthread_create(&w, NULL, writer, NULL);
	pthread_create(&r, NULL, reader, NULL);
	pthread_join(w, NULL);
	pthread_join(r, NULL);
	assert(threads == 0);
	return 0;
}
