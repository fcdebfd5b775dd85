/*
 * The fixed twin of cache_report.c: the report takes the locks in the order of a lookup.
 */
#include <pthread.h>
#include <stdio.h>

#define ENTRIES 4

static pthread_mutex_t cache_lock = PTHREAD_MUTEX_INITIALIZER;
static int values[ENTRIES] = { 2, 3, 5, 7 };
static int entries = ENTRIES;

static pthread_mutex_t stats_lock = PTHREAD_MUTEX_INITIALIZER;
static int lookups, errors;

static void *lookup(void *arg)
{
	int *key = arg;

	pthread_mutex_lock(&cache_lock);
	int found = *key < entries ? values[*key] : -1;
	pthread_mutex_lock(&stats_lock);
	lookups++;
	pthread_mutex_unlock(&stats_lock);
	pthread_mutex_unlock(&cache_lock);
	*key = found;
	return NULL;
}

static void *report(void *arg)
{
	pthread_mutex_lock(&cache_lock);
	pthread_mutex_lock(&stats_lock);
	printf("%d entries, %d lookups\n", entries, lookups);
	pthread_mutex_unlock(&stats_lock);
	pthread_mutex_unlock(&cache_lock);
	return arg;
}

static void *fail(void *arg)
{
	pthread_mutex_lock(&stats_lock);
	errors++;
	pthread_mutex_unlock(&stats_lock);
	return arg;
}

int main(void)
{
	int keys[2] = { 1, 3 };
	pthread_t threads[4];

	pthread_create(&threads[0], NULL, lookup, &keys[0]);
	pthread_create(&threads[1], NULL, report, NULL);
	pthread_create(&threads[2], NULL, fail, NULL);
	pthread_create(&threads[3], NULL, lookup, &keys[1]);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	printf("found %d and %d, %d errors\n", keys[0], keys[1], errors);
	return 0;
}
