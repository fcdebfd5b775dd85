/*
 * The fixed twin of checked_create.c: the limit is set before there is a worker.
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

	server.limit = 3;
	if (pthread_create(&server.worker, NULL, work, &server) != 0) {
		perror("worker");
		exit(1);
	}
	pthread_join(server.worker, NULL);
	assert(server.taken == 3);
	return 0;
}
