/*
 * checked_create: a server starts its worker and then sets the limit that the
 * worker goes by. Unlike most examples it looks whether the thread was created.
 *
 * Modelled on start-up code that grew: the new setting was added at the end.
 *
 * Bug (assertion): the worker runs before the limit is set, and takes nothing.
 */
#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

struct server {
	int limit;
	int taken;
	pthread_t worker;
};

static void *work(void *arg)
{
	struct server *server = arg;

	while (server->taken < server->limit)
		server->taken++;
	return NULL;
}

int main(void)
{
	struct server server = { 0 };

	if (pthread_create(&server.worker, NULL, work, &server) != 0) {
		perror("worker");
		exit(1);
	}
	server.limit = 3;
	pthread_join(server.worker, NULL);
	assert(server.taken == 3);
	return 0;
}
