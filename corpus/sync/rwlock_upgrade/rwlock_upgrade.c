/*
 * rwlock_upgrade: threads look a value up with a lock for readers; who does not find
 * it makes its lock one for a writer and fills it in.
 *
 * Modelled on readers-writer locks that can be upgraded; the lock is hand-made of a
 * mutex and a condition variable.
 *
 * Bug (deadlock): an upgrade waits until no other reader is left, and keeps the lock
 * for reading meanwhile. Fails when two threads hold it for reading, both miss, and both
 * upgrade: each waits for the other to leave.
 */
#include <assert.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

#define THREADS 2
#define MISSING 0

struct rwlock {
	pthread_mutex_t m;
	pthread_cond_t changed;
	int readers;
	bool writer;
};

static struct rwlock lock = {
	.m = PTHREAD_MUTEX_INITIALIZER,
	.changed = PTHREAD_COND_INITIALIZER,
};
static int value = MISSING;
static int fills;

static void read_lock(struct rwlock *l)
{
	pthread_mutex_lock(&l->m);
	while (l->writer)
		pthread_cond_wait(&l->changed, &l->m);
	l->readers++;
	pthread_mutex_unlock(&l->m);
}

static void read_unlock(struct rwlock *l)
{
	pthread_mutex_lock(&l->m);
	l->readers--;
	pthread_cond_broadcast(&l->changed);
	pthread_mutex_unlock(&l->m);
}

/* From reader to writer. */
static void upgrade(struct rwlock *l)
{
	pthread_mutex_lock(&l->m);
	while (l->readers > 1)
		pthread_cond_wait(&l->changed, &l->m);
	l->readers = 0;
	l->writer = true;
	pthread_mutex_unlock(&l->m);
}

static void write_unlock(struct rwlock *l)
{
	pthread_mutex_lock(&l->m);
	l->writer = false;
	pthread_cond_broadcast(&l->changed);
	pthread_mutex_unlock(&l->m);
}

static void *lookup(void *arg)
{
	(void)arg;
	read_lock(&lock);
	if (value != MISSING) {
		read_unlock(&lock);
		return NULL;
	}
	upgrade(&lock);
	value = 7;
	fills++;
	write_unlock(&lock);
	return NULL;
}

int main(void)
{
	pthread_t threads[THREADS];

	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, lookup, NULL);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	assert(value == 7 && fills == 1);
	return 0;
}
