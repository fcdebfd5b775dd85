/*
 * lost_wakeup_many: a producer hands over its items in batches; each of four
 * consumers takes one item.
 *
 * Written for this corpus: the textbook signal where a broadcast is needed.
 *
 * Bug (lost wake-up): a batch of two wakes one consumer only. Fails when two consumers
 * are asleep as a batch comes and the next does not wake the second: the item is
 * there, and its consumer sleeps for ever. Consumers that come later find their item
 * without waiting and hide the bug.
 */
#include <assert.h>
#include <pthread.h>
#include <stddef.h>

#define BATCH 2
#define BATCHES 2
#define CONSUMERS (BATCH * BATCHES)

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t filled = PTHREAD_COND_INITIALIZER;
static int items;
static int taken;

static void put_batch(int count)
{
	pthread_mutex_lock(&lock);
	items += count;
	pthread_cond_signal(&filled);
	pthread_mutex_unlock(&lock);
}

static void take(void)
{
	pthread_mutex_lock(&lock);
	while (items == 0)
		pthread_cond_wait(&filled, &lock);
	items--;
	taken++;
	pthread_mutex_unlock(&lock);
}

static void *producer(void *arg)
{
	(void)arg;
	for (int i = 0; i < BATCHES; i++)
		put_batch(BATCH);
	return NULL;
}

static void *consumer(void *arg)
{
	(void)arg;
	take();
	return NULL;
}

int main(void)
{
	pthread_t producing, consuming[CONSUMERS];

	pthread_create(&producing, NULL, producer, NULL);
	for (int i = 0; i < CONSUMERS; i++)
		pthread_create(&consuming[i], NULL, consumer, NULL);
	pthread_join(producing, NULL);
	for (int i = 0; i < CONSUMERS; i++)
		pthread_join(consuming[i], NULL);
	assert(taken == CONSUMERS && items == 0);
	return 0;
}
