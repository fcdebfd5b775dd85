/* The fixed twin of real/cache4j: rounds of the user; the cleaner sweeps twice in each. */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include "rounds.h"

#define OBJECTS 2
#define SWEEPS 2

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
	atomic_bool sleeping;
	atomic_bool inTryBlock; /* an interrupt would be caught */
	atomic_bool interrupted;
	pthread_mutex_t lock; /* of the three flags together */
};

static struct Cache cache = { .lock = PTHREAD_MUTEX_INITIALIZER };
static struct CacheCleaner cleaner = { .lock = PTHREAD_MUTEX_INITIALIZER };

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

static void *run(void *arg)
{
	struct CacheCleaner *c = arg;
	unsigned value = 1;

	for (int i = 0; i < SWEEPS * rounds; i++) {
		pthread_mutex_lock(&c->lock);
		c->inTryBlock = true;
		c->sleeping = true;
		pthread_mutex_unlock(&c->lock); /* sleeps */
		pthread_mutex_lock(&c->lock);
		c->sleeping = false;
		c->inTryBlock = false;
		pthread_mutex_unlock(&c->lock);
		clean();
		value = compute(value, 9);
	}
	return (void *)(size_t)value;
}

static void *user(void *arg)
{
	unsigned value = 2;

	(void)arg;
	for (int i = 0; i < rounds; i++) {
		put(0, 10);
		setCleanInterval(&cleaner, 5);
		put(1, 20);
		value = compute(value, 10);
	}
	return (void *)(size_t)value;
}

int main(int argc, char **argv)
{
	pthread_t cleaner_thread, user_thread;

	take_arguments(argc, argv);
	cleaner.cleanInterval = 30;
	pthread_create(&cleaner_thread, NULL, run, &cleaner);
	pthread_create(&user_thread, NULL, user, NULL);
	pthread_join(cleaner_thread, NULL);
	pthread_join(user_thread, NULL);
	return 0;
}
