/*
 * The fixed twin of usage_code.c: a failure is never overwritten. Every run returns 2, which
 * is no bug.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

static atomic_int status;

static void *parse(void *arg)
{
	if (*(int *)arg < 2)
		status = 2;
	return NULL;
}

static void *load(void *arg)
{
	return arg;
}

int main(int argc, char **argv)
{
	pthread_t parser, loader;

	(void)argv;
	pthread_create(&parser, NULL, parse, &argc);
	pthread_create(&loader, NULL, load, NULL);
	pthread_join(parser, NULL);
	pthread_join(loader, NULL);
	return status;
}
