/*
 * lingering: a connection is closed when its time is up, while a handler still
 * writes to it; how long it may linger is the argument.
 *
 * Ours, for hunting inputs and schedules together, with an input that comes from
 * the command line.
 *
 * Bug (atomicity violation, check then act): the handler tests whether there is
 * a connection and follows the pointer later. A connection that may linger is
 * closed by main when the handler is done; only with 0 the closer takes it away
 * at once, which does harm between the test and the use.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

struct connection {
	atomic_int sent;
};

static struct connection the_connection;
static struct connection *_Atomic current = &the_connection;

static void *handler(void *arg)
{
	(void)arg;
	if (current != NULL) {
		struct connection *c = current;
		c->sent++;
	}
	return NULL;
}

static void *closer(void *arg)
{
	const long *linger = arg;

	if (*linger == 0)
		current = NULL;
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[2];
	long linger = argc > 1 ? strtol(argv[1], NULL, 10) : 30;

	pthread_create(&threads[0], NULL, handler, NULL);
	pthread_create(&threads[1], NULL, closer, &linger);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	current = NULL;
	return 0;
}
