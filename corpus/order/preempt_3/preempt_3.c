/*
 * preempt_3: a client and a server shake hands by messages, each of which is looked
 * for once, without waiting. The client takes it for granted that it has left before
 * the handshake is over.
 *
 * Written for this corpus, after the notion of a preemption bound (CHESS; Tinertia
 * counts forced switches apart): the bug needs exactly 3 preemptions.
 *
 * Bug (order violation): nothing keeps the server from confirming while the client
 * is still there. Fails only in the order
 *     client: hello | server: offer | client: accept | server: confirm | client: look
 *
 * Why not 2: each message but the first is sent only if the one before it, of the
 * other thread, has been seen, and each is sent at one place, once. So all failing
 * runs have these five segments in this order, with four switches between them. No
 * thread ever blocks; a thread is left without a preemption only at its end. At the
 * first three switches the thread that is left has a segment ahead of it: three
 * preemptions. At the fourth the server has ended. Main blocks in its first join and
 * is not needed before the end.
 */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

static atomic_bool hello, offer, accepted, confirm;

static void *client(void *arg)
{
	(void)arg;
	hello = true;
	if (offer)
		accepted = true;
	assert(!confirm);
	return NULL;
}

static void *server(void *arg)
{
	(void)arg;
	if (hello)
		offer = true;
	if (accepted)
		confirm = true;
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
