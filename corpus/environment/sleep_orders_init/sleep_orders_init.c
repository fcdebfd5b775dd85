/*
 * sleep_orders_init: a thread reads the configuration, which takes 10 ms; main gives it
 * 100 ms and uses it.
 *
 * Written for this corpus: sleeping instead of waiting.
 *
 * Bug (order violation): nothing but the two sleeps puts the initialisation first. On a
 * busy machine the thread may come too late, and main uses a null pointer.
 * Natively: 0 of 200 runs.
 */
#include <assert.h>
#include <pthread.h>
#include <stddef.h>
#include <unistd.h>

struct configuration {
	int port;
};

static struct configuration settings = { 8080 };
static struct configuration *_Atomic configuration;

static void *configure(void *arg)
{
	usleep(10000);
	configuration = &settings;
	return arg;
}

int main(void)
{
	pthread_t reader;

	pthread_create(&reader, NULL, configure, NULL);
	usleep(100000);
	assert(configuration->port == 8080);
	pthread_join(reader, NULL);
	return 0;
}
