/*
 * event_list: threads put events at the head of a list, which main walks at the end.
 *
 * Written for this corpus.
 *
 * Bug (lost update): the event is linked to the head that was read, and becomes the new head,
 * without a lock. Fails when another event becomes the head in between: it is in no list.
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
	e->next = events.head;
	events.head = e;
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
