/*
 * The fixed twin of cache4j.c: the cleaner is `sleeping` only inside its try
 * block, and both flags change, and are tested, under a lock.
 */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

#define OBJECTS 2
#define SWEEPS 2 /* per round */

struct CacheObject {
	int value;
	bool valid;
};

struct Cache {
	pthread_mutex_t lock;
	struct CacheObject objects[OBJECTS];
};

struct CacheCleaner {
	atomic_int cleanInterval;
	atomic_bool sleeping;   /* _sleep in the original */
	atomic_bool inTryBlock; /* an interrupt would be caught */
	atomic_bool interrupted;
	pthread_mutex_t lock; /* of the three flags together */
};

static struct Cache cache = { .lock = PTHREAD_MUTEX_INITIALIZER };
static struct CacheCleaner cleaner = { .lock = PTHREAD_MUTEX_INITIALIZER };
static int rounds = 1;

static void put(int id, int value)
{
	pthread_mutex_lock(&cache.lock);
	cache.objects[id].value = value;
	cache.objects[id].valid = true;
	pthread_mutex_unlock(&cache.lock);
}

static void clean(void)
{
	pthread_mutex_lock(&cache.lock);
	for (int i = 0; i < OBJECTS; i++)
		cache.objects[i].valid = false;
	pthread_mutex_unlock(&cache.lock);
}

/* No branch on `asleep`: runs take the same path whether it is set or not. */
static void interrupt(struct CacheCleaner *c, bool asleep)
{
	bool caught = c->inTryBlock;

	assert(!asleep | caught);
	c->interrupted = asleep;
}

static void setCleanInterval(struct CacheCleaner *c, int interval)
{
	c->cleanInterval = interval;
	pthread_mutex_lock(&c->lock);
	interrupt(c, c->sleeping);
	pthread_mutex_unlock(&c->lock);
}

/* The cleaner thread; the nap itself takes no time here. */
static void *run(void *arg)
{
	struct CacheCleaner *c = arg;

	for (int i = 0; i < SWEEPS * rounds; i++) {
		pthread_mutex_lock(&c->lock);
		c->inTryBlock = true; /* try { */
		c->sleeping = true;
		pthread_mutex_unlock(&c->lock); /* sleep(cleanInterval); */
		pthread_mutex_lock(&c->lock);
		c->sleeping = false;
		c->inTryBlock = false; /* } catch (InterruptedException e) { } */
		pthread_mutex_unlock(&c->lock);
		clean();
	}
	return NULL;
}

static void *user(void *arg)
{
	(void)arg;
	for (int i = 0; i < rounds; i++) {
		put(0, 10);
		setCleanInterval(&cleaner, 5);
		put(1, 20);
	}
	return NULL;
}

/* The argument is the number of rounds. */
int main(int argc, char **argv)
{
	pthread_t cleaner_thread, user_thread;

	if (argc > 1)
		rounds = atoi(argv[1]);
	cleaner.cleanInterval = 30;
	pthread_create(&cleaner_thread, NULL, run, &cleaner);
	pthread_create(&user_thread, NULL, user, NULL);
	pthread_join(cleaner_thread, NULL);
	pthread_join(user_thread, NULL);
	return 0;
}
