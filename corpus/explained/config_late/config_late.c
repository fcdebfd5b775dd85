/*
 * config_late: a daemon starts its listener and its workers, and reads its configuration.
 *
 * Written for this corpus.
 *
 * Bug (use before it is there): the listener is started before the configuration is read.
 * Fails when it looks up its port before main has set the pointer.
 */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#define WORKERS 2

struct config {
	int workers;
	int port;
};

static struct config *config;
static atomic_int port;

static pthread_mutex_t ready_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t all_ready = PTHREAD_COND_INITIALIZER;
static int ready;

static void say_ready(void)
{
	pthread_mutex_lock(&ready_lock);
	ready++;
	pthread_cond_signal(&all_ready);
	pthread_mutex_unlock(&ready_lock);
}

static struct config *read_config(void)
{
	struct config *c = malloc(sizeof *c);

	c->workers = WORKERS;
	c->port = 443;
	return c;
}

static void *listener(void *arg)
{
	atomic_store(&port, config->port);
	say_ready();
	return arg;
}

static void *worker(void *arg)
{
	say_ready();
	return arg;
}

int main(void)
{
	pthread_t threads[WORKERS + 1];

	pthread_create(&threads[0], NULL, listener, NULL);
	config = read_config();
	for (int i = 1; i <= config->workers; i++)
		pthread_create(&threads[i], NULL, worker, NULL);

	pthread_mutex_lock(&ready_lock);
	while (ready < WORKERS + 1)
		pthread_cond_wait(&all_ready, &ready_lock);
	pthread_mutex_unlock(&ready_lock);
	for (int i = 0; i <= WORKERS; i++)
		pthread_join(threads[i], NULL);
	assert(atomic_load(&port) == 443);
	free(config);
	return 0;
}
