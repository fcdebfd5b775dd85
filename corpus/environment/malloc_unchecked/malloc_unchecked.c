/*
 * malloc_unchecked: a worker puts an entry into a list for main.
 *
 * Written for this corpus.
 *
 * Bug: malloc may return a null pointer, and the worker writes through it.
 * Natively: 0 of 200 runs.
 */
#include <assert.h>
#include <pthread.h>
#include <stdlib.h>

struct entry {
	struct entry *next;
	int value;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct entry *list;

static void *work(void *arg)
{
	struct entry *entry = malloc(sizeof *entry);

	entry->value = 1;
	pthread_mutex_lock(&lock);
	entry->next = list;
	list = entry;
	pthread_mutex_unlock(&lock);
	return arg;
}

int main(void)
{
	pthread_t worker;

	pthread_create(&worker, NULL, work, NULL);
	pthread_join(worker, NULL);
	while (list) {
		struct entry *entry = list;

		assert(entry->value == 1);
		list = entry->next;
		free(entry);
	}
	return 0;
}
