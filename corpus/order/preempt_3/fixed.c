/*
 * The fixed twin of preempt_3.c: client and server each do their part in one critical
 * section, so no handshake gets further than the offer.
 */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

static pthread_mutex_t line = PTHREAD_MUTEX_INITIALIZER;
static atomic_bool hello, offer, accepted, confirm;

static void *client(void *arg)
{
	(void)arg;
	pthread_mutex_lock(&line);
	hello = true;
	if (offer)
		accepted = true;
	assert(!confirm);
	pthread_mutex_unlock(&line);
	return NULL;
}

static void *server(void *arg)
{
	(void)arg;
	pthread_mutex_lock(&line);
	if (hello)
		offer = true;
	if (accepted)
		confirm = true;
	pthread_mutex_unlock(&line);
	return NULL;
}

int main(void)
{
	pthread_t c, s;

	pthread_create(&c, NULL, client, NULL);
	pthread_create(&s, NULL, server, NULL);
	pthread_join(c, NULL);
	pthread_join(s, NULL);
	return 0;
}
