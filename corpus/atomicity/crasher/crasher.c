/*
 * crasher: worker threads use a shared session while a janitor closes and
 * reopens it.
 *
 * Modelled on `crasher`, the toy program with an atomicity violation of
 * Symbiosis (table I) and of the MaxSMT paper (table 1).
 *
 * Every access of `current` is made under the lock, so there is no data race.
 * But a worker tests `current` in one critical section and follows it in the
 * next, and the two must be one.
 *
 * Bug (atomicity violation): a worker finds the session open, the janitor
 * closes it (current = NULL), the worker follows the null pointer.
 */
#include <assert.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

#define MAX_WORKERS 16

struct session {
	int hits;
	int misses;
};

static struct session the_session;
static struct session *current = &the_session; /* NULL while closed */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int workers = 3;
static int rounds = 2;

static bool session_is_open(void)
{
	pthread_mutex_lock(&lock);
	bool open = current != NULL;
	pthread_mutex_unlock(&lock);
	return open;
}

static void session_hit(void)
{
	pthread_mutex_lock(&lock);
	current->hits++;
	pthread_mutex_unlock(&lock);
}

static void session_miss(void)
{
	pthread_mutex_lock(&lock);
	the_session.misses++;
	pthread_mutex_unlock(&lock);
}

static void *worker(void *arg)
{
	(void)arg;
	for (int i = 0; i < rounds; i++) {
		if (session_is_open())
			session_hit();
		else
			session_miss();
	}
	return NULL;
}

static void *janitor(void *arg)
{
	(void)arg;
	for (int i = 0; i < rounds; i++) {
		pthread_mutex_lock(&lock);
		current = NULL;
		pthread_mutex_unlock(&lock);

		pthread_mutex_lock(&lock);
		current = &the_session;
		pthread_mutex_unlock(&lock);
	}
	return NULL;
}

/* The arguments are the number of workers, and of rounds of each. */
int main(int argc, char **argv)
{
	pthread_t threads[MAX_WORKERS + 1];

	if (argc > 1)
		workers = atoi(argv[1]);
	if (argc > 2)
		rounds = atoi(argv[2]);
	if (workers > MAX_WORKERS)
		return 2;
	for (int i = 0; i < workers; i++)
		pthread_create(&threads[i], NULL, worker, NULL);
	pthread_create(&threads[workers], NULL, janitor, NULL);
	for (int i = 0; i <= workers; i++)
		pthread_join(threads[i], NULL);

	assert(the_session.hits + the_session.misses == workers * rounds);
	return 0;
}
