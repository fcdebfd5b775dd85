/*
 * symbiosis-2: figure 2 of the Symbiosis paper, its running example: a
 * simplified pfscan. One thread enqueues elements, two others dequeue them if
 * there are any; `filled` counts the elements of the queue.
 *
 * Bug (atomicity violation): get() tests `filled` in one critical section and
 * decrements it in another. Two consumers both find the last element; one
 * dequeues it, the other violates the assertion (line 19 of the figure).
 */
#include <assert.h>
#include <pthread.h>
#include <stdbool.h>

#define SLOTS 4
#define CONSUMERS 2
#define ELEMENTS 1

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int queue[SLOTS];
static int first, last;
static int filled;

/* The caller of both holds the lock. */
static void enqueue(int element)
{
	queue[last++ % SLOTS] = element;
}

static int dequeue(void)
{
	return queue[first++ % SLOTS];
}

static void put(int element)
{
	pthread_mutex_lock(&lock);
	enqueue(element);
	filled++; /* line 4 of the figure */
	pthread_mutex_unlock(&lock);
}

static int get(void)
{
	int element = 0;

	pthread_mutex_lock(&lock); /* line 9 */
	bool any = filled > 0; /* line 10 */
	pthread_mutex_unlock(&lock);
	if (!any)
		return 0;

	pthread_mutex_lock(&lock);
	assert(filled > 0); /* line 19 */
	filled--; /* line 20 */
	element = dequeue();
	pthread_mutex_unlock(&lock);
	return element;
}

static void *consumer(void *arg)
{
	*(int *)arg = get();
	return NULL;
}

int main(void)
{
	static int got[CONSUMERS];
	pthread_t consumers[CONSUMERS];

	for (int i = 0; i < CONSUMERS; i++)
		pthread_create(&consumers[i], NULL, consumer, &got[i]);
	for (int i = 0; i < ELEMENTS; i++)
		put(7);
	for (int i = 0; i < CONSUMERS; i++)
		pthread_join(consumers[i], NULL);
	assert(got[0] + got[1] == 0 || got[0] + got[1] == 7);
	return 0;
}
