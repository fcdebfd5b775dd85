/*
 * The fixed twin of tomcat-37458.c: findClass() tests again under the lock
 * whether the class is still undefined.
 */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define REQUESTS 2
#define MAGIC 0x2a
#define MAX_CLASSES 32

struct Class {
	char magic;
};

struct ResourceEntry {
	char *binaryContent;
	_Atomic(struct Class *) loadedClass;
};

static struct {
	pthread_mutex_t lock;
	struct ResourceEntry entries[MAX_CLASSES];
	struct Class defined[MAX_CLASSES];
} loader = { .lock = PTHREAD_MUTEX_INITIALIZER };
static int classes = 1;

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
	(void)arg;
	for (int i = 0; i < classes; i++) {
		struct Class *clazz = findClass(i);

		assert(clazz->magic == MAGIC);
	}
	return NULL;
}

/* The argument is the number of classes that each request needs. */
int main(int argc, char **argv)
{
	pthread_t requests[REQUESTS];

	if (argc > 1)
		classes = atoi(argv[1]);
	if (classes > MAX_CLASSES)
		return 2;
	for (int i = 0; i < classes; i++)
		findResource(i);
	for (int i = 0; i < REQUESTS; i++)
		pthread_create(&requests[i], NULL, request, NULL);
	for (int i = 0; i < REQUESTS; i++)
		pthread_join(requests[i], NULL);
	return 0;
}
