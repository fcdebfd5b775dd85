/*
 * The fixed twin of sleep_orders_init.c: main sleeps all the same, but then waits until
 * the configuration is there.
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
	pthread_join(reader, NULL);
	assert(configuration->port == 8080);
	return 0;
}
