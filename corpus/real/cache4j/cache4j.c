/*
 * cache4j: a thread-safe object cache with a cleaner thread that sleeps between
 * two sweeps and can be woken early to take over a new interval.
 *
 * Modelled on the data race of cache4j's CacheCleaner (found by Sen with race
 * directed testing) as studied by Symbiosis (table I, figure 6e), CoopREP and
 * Cortex. Java's interrupt() of a thread that is outside its try block ends in
 * an uncaught exception; as in Symbiosis, an assertion on inTryBlock replaces
 * it.
 *
 * Bug (data race): the cleaner announces its sleep (_sleep = true) just before
 * it enters the try block. setCleanInterval() sees _sleep in that window, or
 * in the one after the block, and interrupts a thread that cannot take it.
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
};

static struct Cache cache = { .lock = PTHREAD_MUTEX_INITIALIZER };
static struct CacheCleaner cleaner;
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
	interrupt(c, c->sleeping);
}

/* The cleaner thread; the nap itself takes no time here. */
static void *run(void *arg)
{
	struct CacheCleaner *c = arg;

	for (int i = 0; i < SWEEPS * rounds; i++) {
		c->sleeping = true;
		c->inTryBlock = true; /* try { sleep(cleanInterval); */
		c->inTryBlock = false; /* } catch (InterruptedException e) { } */
		c->sleeping = false;
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
