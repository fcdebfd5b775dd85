/*
 * The fixed twin of heartbeat.c: the pointer is read once. A connection lives until main
 * frees it, so that a late heartbeat does no harm.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#define SESSIONS 2

struct connection {
	int peer;
	int beats;
};

struct session {
	struct connection *_Atomic conn;
};

static struct session sessions[SESSIONS];

static pthread_mutex_t closed_lock = PTHREAD_MUTEX_INITIALIZER;
static struct connection *closed[SESSIONS];
static int closed_count;

static void send_beat(struct connection *c)
{
	c->beats++;
}

static void *heartbeat(void *arg)
{
	struct session *s = arg;
	struct connection *c = atomic_load(&s->conn);

	if (c != NULL)
		send_beat(c);
	return NULL;
}

static void *closer(void *arg)
{
	struct session *s = arg;
	struct connection *c = atomic_exchange(&s->conn, NULL);

	pthread_mutex_lock(&closed_lock);
	closed[closed_count++] = c;
	pthread_mutex_unlock(&closed_lock);
	return NULL;
}

int main(void)
{
	pthread_t threads[2 * SESSIONS];

	for (int i = 0; i < SESSIONS; i++) {
		struct connection *c = calloc(1, sizeof *c);
		c->peer = 100 + i;
		atomic_store(&sessions[i].conn, c);
	}
	for (int i = 0; i < SESSIONS; i++) {
		pthread_create(&threads[2 * i], NULL, heartbeat, &sessions[i]);
		pthread_create(&threads[2 * i + 1], NULL, closer, &sessions[i]);
	}
	for (int i = 0; i < 2 * SESSIONS; i++)
		pthread_join(threads[i], NULL);
	for (int i = 0; i < closed_count; i++) {
		printf("peer %d: %d beats\n", closed[i]->peer, closed[i]->beats);
		free(closed[i]);
	}
	return 0;
}
