/*
 * The fixed twin of rwlock_upgrade.c: an upgrade gives the lock for reading up before it
 * waits, and its caller tests again.
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

/* From reader to writer. Others may write in between: look again at what was read. */
static void upgrade(struct rwlock *l)
{
	pthread_mutex_lock(&l->m);
	l->readers--;
	pthread_cond_broadcast(&l->changed);
	while (l->readers > 0 || l->writer)
		pthread_cond_wait(&l->changed, &l->m);
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
	if (value == MISSING) {
		value = 7;
		fills++;
	}
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
