/*
 * The fixed twin of three_stages.c: each stage is done before the next one begins.
 */
#include <assert.h>
#include <pthread.h>

static int intake = 1;
static int filter = 2;
static int outlet = 3;

static void *fill_intake(void *unused)
{
	intake = 7;
	return unused;
}

static void *fill_filter(void *unused)
{
	filter = intake;
	return unused;
}

static void *fill_outlet(void *unused)
{
	outlet = filter;
	return unused;
}

int main(void)
{
	pthread_t stage;
	pthread_create(&stage, NULL, fill_intake, NULL);
	pthread_join(stage, NULL);
	pthread_create(&stage, NULL, fill_filter, NULL);
	pthread_join(stage, NULL);
	pthread_create(&stage, NULL, fill_outlet, NULL);
	pthread_join(stage, NULL);
	assert(intake == filter && filter == outlet);
	return 0;
}
