/*
 * event_loop_shutdown: main handles events that workers post to its queue, until one of
 * them is "quit"; then it tears the queue down.
 *
 * Written for this corpus, after shutdown bugs of event loops.
 *
 * Bug (order violation): the worker that posts "quit" is not always the last to post.
 * Fails when main handles "quit" and takes the queue's memory away before the other
 * worker posts its last event: the post, though under the lock, stores to nowhere.
 */
#include <assert.h>
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>

#define CAPACITY 8

enum event { TICK, DATA, QUIT };

struct queue {
	pthread_mutex_t lock;
	pthread_cond_t filled;
	enum event *events;
	int first, count;
};

static struct queue queue = {
	.lock = PTHREAD_MUTEX_INITIALIZER,
	.filled = PTHREAD_COND_INITIALIZER,
};

static void post(enum event event)
{
	pthread_mutex_lock(&queue.lock);
	assert(queue.count < CAPACITY);
	queue.events[(queue.first + queue.count) % CAPACITY] = event;
	queue.count++;
	pthread_cond_signal(&queue.filled);
	pthread_mutex_unlock(&queue.lock);
}

static enum event next_event(void)
{
	pthread_mutex_lock(&queue.lock);
	while (queue.count == 0)
		pthread_cond_wait(&queue.filled, &queue.lock);
	enum event event = queue.events[queue.first];
	queue.first = (queue.first + 1) % CAPACITY;
	queue.count--;
	pthread_mutex_unlock(&queue.lock);
	return event;
}

static void tear_down(void)
{
	pthread_mutex_lock(&queue.lock);
	free(queue.events);
	queue.events = NULL;
	queue.count = 0;
	pthread_mutex_unlock(&queue.lock);
}

static void *control(void *arg)
{
	(void)arg;
	post(TICK);
	post(TICK);
	post(QUIT);
	return NULL;
}

static void *receiver(void *arg)
{
	(void)arg;
	post(DATA);
	post(DATA);
	return NULL;
}

int main(void)
{
	pthread_t controlling, receiving;
	int handled = 0;

	queue.events = malloc(CAPACITY * sizeof *queue.events);
	pthread_create(&receiving, NULL, receiver, NULL);
	pthread_create(&controlling, NULL, control, NULL);
	while (next_event() != QUIT)
		handled++;
	tear_down();
	pthread_join(controlling, NULL);
	pthread_join(receiving, NULL);
	assert(handled >= 2 && handled <= 4);
	return 0;
}
