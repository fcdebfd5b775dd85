/*
 * tomcat-37458: two requests make the class loader of a web application define
 * the same class.
 *
 * Modelled on bug 37458 of Apache Tomcat (WebappClassLoader) as studied by
 * CoopREP (table 3.6). The bytes of a class are kept until it is defined and
 * then given up.
 *
 * Bug (atomicity violation, check then act): findClass() tests loadedClass
 * without the lock and defines the class under the lock without testing again.
 * Two requests find it undefined; the first defines it and clears
 * binaryContent, the second reads from null.
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
	struct Class *clazz = defineClass(number, entry->binaryContent);
	entry->loadedClass = clazz;
	free(entry->binaryContent);
	entry->binaryContent = NULL;
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
