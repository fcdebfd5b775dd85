/*
 * The fixed twin of plugin_table.c: the last entry is found and read under one lock.
 */
#include <pthread.h>
#include <stdio.h>

struct plugin {
	int id;
	int events;
};

static struct plugin logger = { .id = 1 };
static struct plugin tracer = { .id = 2 };

static struct {
	pthread_mutex_t lock;
	int count;
	struct plugin *entries[4];
} table = {
	.lock = PTHREAD_MUTEX_INITIALIZER,
	.count = 2,
	.entries = { &logger, &tracer },
};

static pthread_mutex_t events_lock = PTHREAD_MUTEX_INITIALIZER;

static struct plugin *newest(void)
{
	pthread_mutex_lock(&table.lock);
	struct plugin *p = table.entries[table.count - 1];
	pthread_mutex_unlock(&table.lock);
	return p;
}

static void *dispatch(void *arg)
{
	struct plugin *p = newest();

	pthread_mutex_lock(&events_lock);
	p->events++;
	pthread_mutex_unlock(&events_lock);
	return arg;
}

static void *unload(void *arg)
{
	pthread_mutex_lock(&table.lock);
	table.count--;
	table.entries[table.count] = NULL;
	pthread_mutex_unlock(&table.lock);
	return arg;
}

int main(void)
{
	pthread_t threads[3];

	pthread_create(&threads[0], NULL, dispatch, NULL);
	pthread_create(&threads[1], NULL, unload, NULL);
	pthread_create(&threads[2], NULL, dispatch, NULL);
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	printf("%d: %d, %d: %d\n", logger.id, logger.events, tracer.id, tracer.events);
	return 0;
}
