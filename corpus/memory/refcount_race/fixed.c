/*
 * The fixed twin of refcount_race.c: the count is atomic, so that each change counts.
 */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>

#define WORKERS 2

struct packet {
	atomic_int references;
	int length;
};

static struct packet *packet_get(struct packet *p)
{
	p->references++;
	return p;
}

static void packet_put(struct packet *p)
{
	if (--p->references == 0)
		free(p);
}

static void *inspect(void *arg)
{
	struct packet *p = packet_get(arg);
	assert(p->length == 60);
	packet_put(p);
	return NULL;
}

int main(void)
{
	pthread_t workers[WORKERS];
	struct packet *received = malloc(sizeof *received);

	received->references = 1;
	received->length = 60;
	for (int i = 0; i < WORKERS; i++)
		pthread_create(&workers[i], NULL, inspect, received);
	for (int i = 0; i < WORKERS; i++)
		pthread_join(workers[i], NULL);
	assert(received->length == 60);
	packet_put(received);
	return 0;
}
