/* The fixed twin of real/tomcat-37458: in each round a request finds every class once. */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include "rounds.h"

#define REQUESTS 2
#define MAGIC 0x2a
#define CLASSES 16

struct Class {
	char magic;
};

struct ResourceEntry {
	char *binaryContent;
	_Atomic(struct Class *) loadedClass;
};

static struct {
	pthread_mutex_t lock;
	struct ResourceEntry entries[CLASSES];
	struct Class defined[CLASSES];
} loader = { .lock = PTHREAD_MUTEX_INITIALIZER };

static void findResource(int number)
{
	loader.entries[number].binaryContent = malloc(4);
	memset(loader.entries[number].binaryContent, MAGIC, 4);
}

static struct Class *defineClass(int number, const char *bytes)
{
	loader.defined[number].magic = bytes[0];
	return &loader.defined[number];
}

static struct Class *findClass(int number)
{
	struct ResourceEntry *entry = &loader.entries[number];

	if (entry->loadedClass != NULL)
		return entry->loadedClass;
	pthread_mutex_lock(&loader.lock);
	struct Class *clazz = entry->loadedClass;
	if (clazz == NULL) {
		clazz = defineClass(number, entry->binaryContent);
		entry->loadedClass = clazz;
		free(entry->binaryContent);
		entry->binaryContent = NULL;
	}
	pthread_mutex_unlock(&loader.lock);
	return clazz;
}

static void *request(void *arg)
{
	unsigned value = 1;

	(void)arg;
	for (int round = 0; round < rounds; round++) {
		for (int i = 0; i < CLASSES; i++) {
			struct Class *clazz = findClass(i);

			assert(clazz->magic == MAGIC);
			value = compute(value, 3);
		}
	}
	return (void *)(size_t)value;
}

int main(int argc, char **argv)
{
	pthread_t requests[REQUESTS];

	take_arguments(argc, argv);
	for (int i = 0; i < CLASSES; i++)
		findResource(i);
	for (int i = 0; i < REQUESTS; i++)
		pthread_create(&requests[i], NULL, request, NULL);
	for (int i = 0; i < REQUESTS; i++)
		pthread_join(requests[i], NULL);
	return 0;
}
