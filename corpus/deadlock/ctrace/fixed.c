/*
 * The fixed twin of ctrace.c: trc_remove_thread() releases the table before it
 * takes the log.
 */
#include <assert.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

#define THREADS 2
#define RECORDS 256

struct trc_thread {
	bool registered;
	int level; /* how much is traced */
};

static struct {
	pthread_mutex_t lock;
	struct trc_thread threads[THREADS];
} table = { .lock = PTHREAD_MUTEX_INITIALIZER };

static struct {
	pthread_mutex_t lock;
	int records[RECORDS]; /* the thread that wrote each */
	int count;
} trace_log = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* The caller holds the lock of the log. */
static void trc_write(int thread)
{
	assert(trace_log.count < RECORDS);
	trace_log.records[trace_log.count++] = thread;
}

static void trc_add_thread(int thread, int level)
{
	pthread_mutex_lock(&table.lock);
	table.threads[thread].registered = true;
	table.threads[thread].level = level;
	pthread_mutex_unlock(&table.lock);
}

static int trc_level(int thread)
{
	pthread_mutex_lock(&table.lock);
	int level = table.threads[thread].registered
		  ? table.threads[thread].level : 0;
	pthread_mutex_unlock(&table.lock);
	return level;
}

static void trc_trace(int thread)
{
	pthread_mutex_lock(&trace_log.lock);
	if (trc_level(thread) > 0)
		trc_write(thread);
	pthread_mutex_unlock(&trace_log.lock);
}

static void trc_remove_thread(int thread)
{
	pthread_mutex_lock(&table.lock);
	table.threads[thread].registered = false;
	pthread_mutex_unlock(&table.lock);

	pthread_mutex_lock(&trace_log.lock);
	trc_write(thread);
	pthread_mutex_unlock(&trace_log.lock);
}

static int calls = 1; /* of trc_trace() in each thread */

static void *traced(void *arg)
{
	int id = *(int *)arg;

	trc_add_thread(id, 1);
	for (int i = 0; i < calls; i++)
		trc_trace(id);
	trc_remove_thread(id);
	return NULL;
}

/* The argument is the number of records that each thread writes before its last. */
int main(int argc, char **argv)
{
	static int ids[THREADS] = { 0, 1 };
	pthread_t threads[THREADS];

	if (argc > 1)
		calls = atoi(argv[1]);
	if ((calls + 1) * THREADS > RECORDS)
		return 2;
	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, traced, &ids[i]);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	assert(trace_log.count == (calls + 1) * THREADS);
	return 0;
}
