/*
 * pool: an object pool lends connections; one thread returns the one it
 * borrowed while another thread closes the pool.
 *
 * Modelled on the data race of Apache Commons Pool (GenericObjectPool) studied
 * by Cortex (table 5.1) and MCR: returnObject() tests whether the pool is
 * closed outside the synchronised part that adds the object to the idle ones.
 *
 * Bug (atomicity violation, check then act): returnObject() finds the pool
 * open, close() marks it closed and destroys all idle objects, returnObject()
 * adds its object to the closed pool. Nobody destroys it any more.
 */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

#define CAPACITY 16

struct object {
	int uses;
};

struct pool {
	pthread_mutex_t lock;
	atomic_bool closed;
	struct object *idle[CAPACITY];
	int numIdle;
	atomic_int alive; /* objects made and not destroyed */
};

static struct pool pool = { .lock = PTHREAD_MUTEX_INITIALIZER };
static int users = 1;
static int uses = 1; /* of each user */

static void addObject(void)
{
	struct object *o = malloc(sizeof *o);

	o->uses = 0;
	pool.idle[pool.numIdle++] = o;
	pool.alive++;
}

static void destroyObject(struct object *o)
{
	pool.alive--;
	free(o);
}

static struct object *borrowObject(void)
{
	pthread_mutex_lock(&pool.lock);
	struct object *o = pool.numIdle > 0 ? pool.idle[--pool.numIdle] : NULL;
	pthread_mutex_unlock(&pool.lock);
	return o;
}

static void returnObject(struct object *o)
{
	if (pool.closed) {
		destroyObject(o);
		return;
	}
	pthread_mutex_lock(&pool.lock);
	pool.idle[pool.numIdle++] = o;
	pthread_mutex_unlock(&pool.lock);
}

static void closePool(void)
{
	pool.closed = true;
	pthread_mutex_lock(&pool.lock);
	while (pool.numIdle > 0)
		destroyObject(pool.idle[--pool.numIdle]);
	pthread_mutex_unlock(&pool.lock);
}

static void *user(void *arg)
{
	struct object *o = arg;

	for (int i = 1; o != NULL && i < uses; i++) {
		o->uses++;
		returnObject(o);
		o = borrowObject();
	}
	if (o == NULL)
		return NULL; /* the pool was closed */
	o->uses++;
	returnObject(o);
	return NULL;
}

static void *closer(void *arg)
{
	(void)arg;
	closePool();
	return NULL;
}

/* The arguments are the number of users, and how often each uses an object. */
int main(int argc, char **argv)
{
	pthread_t threads[CAPACITY + 1];

	if (argc > 2) {
		users = atoi(argv[1]);
		uses = atoi(argv[2]);
	}
	if (users > CAPACITY)
		return 2;
	for (int i = 0; i < users; i++)
		addObject();
	for (int i = 0; i < users; i++)
		pthread_create(&threads[i], NULL, user, borrowObject());
	pthread_create(&threads[users], NULL, closer, NULL);
	for (int i = 0; i <= users; i++)
		pthread_join(threads[i], NULL);

	assert(pool.alive == 0);
	return 0;
}
