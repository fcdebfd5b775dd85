/*
 * lru_cache: a cache of two entries. A hash map finds them, a list keeps them in the
 * order of their use, and the one used least recently makes room for a new one.
 *
 * Written for this corpus, after caches of database and proxy servers.
 *
 * Bug (atomicity violation, check then act): map and list have a lock each. Fails when the
 * entry that a lookup is about to move to the front is not in the list or has another key:
 * it was evicted between the lookup and the move, or looked up while an eviction had taken
 * it out of the list and not yet out of the map. To make either function atomic is not enough.
 */
#include <assert.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

#define ENTRIES 2
#define BUCKETS 4

struct entry {
	int key, value;
	bool listed;
	struct entry *chain, *newer, *older; /* in its bucket, in the list */
};

static struct entry entries[ENTRIES];

static struct {
	pthread_mutex_t lock;
	struct entry *buckets[BUCKETS];
} map = { .lock = PTHREAD_MUTEX_INITIALIZER };

static struct {
	pthread_mutex_t lock;
	struct entry *newest, *oldest;
} list = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* The caller of these two holds the lock of the list. */
static void list_remove(struct entry *e)
{
	*(e->newer ? &e->newer->older : &list.newest) = e->older;
	*(e->older ? &e->older->newer : &list.oldest) = e->newer;
	e->listed = false;
}

static void list_push(struct entry *e)
{
	e->newer = NULL;
	e->older = list.newest;
	*(list.newest ? &list.newest->newer : &list.oldest) = e;
	list.newest = e;
	e->listed = true;
}

/* The caller of these three holds the lock of the map. */
static struct entry *map_find(int key)
{
	struct entry *e = map.buckets[key % BUCKETS];

	while (e != NULL && e->key != key)
		e = e->chain;
	return e;
}

static void map_remove(struct entry *e)
{
	struct entry **link = &map.buckets[e->key % BUCKETS];

	while (*link != e)
		link = &(*link)->chain;
	*link = e->chain;
}

static void map_insert(struct entry *e, int key, int value)
{
	e->key = key;
	e->value = value;
	e->chain = map.buckets[key % BUCKETS];
	map.buckets[key % BUCKETS] = e;
}

/* Whether the key is there; it then counts as used just now. */
static bool cache_get(int key, int *value)
{
	pthread_mutex_lock(&map.lock);
	struct entry *e = map_find(key);
	if (e != NULL)
		*value = e->value;
	pthread_mutex_unlock(&map.lock);
	if (e == NULL)
		return false;

	pthread_mutex_lock(&list.lock);
	assert(e->listed && e->key == key);
	list_remove(e);
	list_push(e);
	pthread_mutex_unlock(&list.lock);
	return true;
}

/* Puts a key that is not there in place of the oldest. */
static void cache_put(int key, int value)
{
	pthread_mutex_lock(&list.lock);
	struct entry *e = list.oldest;
	list_remove(e);
	pthread_mutex_unlock(&list.lock);

	pthread_mutex_lock(&map.lock);
	map_remove(e);
	map_insert(e, key, value);
	pthread_mutex_unlock(&map.lock);

	pthread_mutex_lock(&list.lock);
	list_push(e);
	pthread_mutex_unlock(&list.lock);
}

static void *reader(void *arg)
{
	int value;

	(void)arg;
	for (int key = 0; key < ENTRIES; key++)
		if (cache_get(key, &value))
			assert(value == 10 * key);
	return NULL;
}

static void *writer(void *arg)
{
	(void)arg;
	cache_put(ENTRIES, 10 * ENTRIES);
	return NULL;
}

int main(void)
{
	pthread_t reading, writing;

	for (int i = 0; i < ENTRIES; i++) {
		map_insert(&entries[i], i, 10 * i);
		list_push(&entries[i]);
	}
	pthread_create(&reading, NULL, reader, NULL);
	pthread_create(&writing, NULL, writer, NULL);
	pthread_join(reading, NULL);
	pthread_join(writing, NULL);
	return 0;
}
