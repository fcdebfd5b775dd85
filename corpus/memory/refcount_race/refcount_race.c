/*
 * refcount_race: a packet is shared by the thread that received it and two that look at
 * it; whoever drops the last reference frees it.
 *
 * Written for this corpus, after the reference counts of network buffers.
 *
 * Bug (use after free): the count is an ordinary integer. Two references taken at once
 * can count as one, and so can one taken while another is dropped. Fails when a worker
 * stores a count that it computed before the other worker took its reference: the
 * second to drop its reference then frees the packet, and main still uses it.
 */
#include <assert.h>
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>

#define WORKERS 2

struct packet {
	int references;
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
