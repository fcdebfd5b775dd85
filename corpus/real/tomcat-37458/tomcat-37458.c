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

struct Class {
	char magic;
};

struct ResourceEntry {
	char *binaryContent;
	_Atomic(struct Class *) loadedClass;
};

static struct {
	pthread_mutex_t lock;
	struct ResourceEntry entry; /* of the one class there is */
	struct Class defined;
} loader = { .lock = PTHREAD_MUTEX_INITIALIZER };

static void findResource(void)
{
	loader.entry.binaryContent = malloc(4);
	memset(loader.entry.binaryContent, MAGIC, 4);
}

static struct Class *defineClass(const char *bytes)
{
	loader.defined.magic = bytes[0];
	return &loader.defined;
}

static struct Class *findClass(void)
{
	struct ResourceEntry *entry = &loader.entry;

	if (entry->loadedClass != NULL)
		return entry->loadedClass;
	pthread_mutex_lock(&loader.lock);
	struct Class *clazz = defineClass(entry->binaryContent);
	entry->loadedClass = clazz;
	free(entry->binaryContent);
	entry->binaryContent = NULL;
	pthread_mutex_unlock(&loader.lock);
	return clazz;
}

static void *request(void *arg)
{
	struct Class *clazz = findClass();

	(void)arg;
	assert(clazz->magic == MAGIC);
	return NULL;
}

int main(void)
{
	pthread_t requests[REQUESTS];

	findResource();
	for (int i = 0; i < REQUESTS; i++)
		pthread_create(&requests[i], NULL, request, NULL);
	for (int i = 0; i < REQUESTS; i++)
		pthread_join(requests[i], NULL);
	return 0;
}
