/*
 * usage_code: two parts of a program start up in threads of their own, and one of them finds
 * that an argument is missing. The program is called without, so it should always return 2.
 *
 * Written for this corpus.
 *
 * Bug (order violation): the part that comes last decides what main returns. The wrong code
 * is the 0, but it is the runs with 2 that differ from success.
 * Natively: 2 is returned in 5 of 200 runs.
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
	status = 0;
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
