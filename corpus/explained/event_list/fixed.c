/*
 * The fixed twin of event_list.c: an event is linked under the lock.
 */
#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define THREADS 4

struct event {
	struct event *next;
	int source;
};

static struct {
	pthread_mutex_t lock;
	struct event *head;
	int recorded;
} events = { .lock = PTHREAD_MUTEX_INITIALIZER };

static void push(struct event *e)
{
	pthread_mutex_lock(&events.lock);
	e->next = events.head;
	events.head = e;
	pthread_mutex_unlock(&events.lock);
}

static void *source(void *arg)
{
	struct event *e = malloc(sizeof *e);

	e->source = *(int *)arg;
	push(e);

	pthread_mutex_lock(&events.lock);
	events.recorded++;
	pthread_mutex_unlock(&events.lock);
	return NULL;
}

int main(void)
{
	static int ids[THREADS];
	pthread_t threads[THREADS];
	int found = 0;

	for (int i = 0; i < THREADS; i++) {
		ids[i] = i;
		pthread_create(&threads[i], NULL, source, &ids[i]);
	}
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);

	while (events.head != NULL) {
		struct event *e = events.head;
		printf("event of %d\n", e->source);
		events.head = e->next;
		free(e);
		found++;
	}
	assert(found == events.recorded);
	return 0;
}
