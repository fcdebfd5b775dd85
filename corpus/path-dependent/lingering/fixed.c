/*
 * The fixed twin of lingering.c: the handler reads the pointer once, and tests
 * and follows what it read.
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
	struct connection *c = current;

	if (c != NULL)
		c->sent++;
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
