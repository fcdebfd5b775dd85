/*
 * apache-21287, of ConcBugAssist's table 5.1 (79 lines, 3 threads, atomicity
 * violation; 2 causes of 1.5 constraints). The original is Apache bug 21287:
 * mod_mem_cache frees a cached object twice.
 * Requests that serve a cached object hold a reference; whoever drops the last
 * one frees the object's data. The count itself is changed by atomic operations.
 * The bug: decrement_refcount decrements and then reads the count again, so two
 * requests can both find 0.
 * Fails (double free) when both have decremented before either reads the count,
 * or the second decrements between the first one's decrement and its read.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define REQUESTS 2

struct mem_cache_object {
    size_t m_len;
    char *m; /* the cached bytes */
};

struct cache_object {
    atomic_int refcount;
    struct mem_cache_object *vobj;
};

static void cleanup_cache_object(struct cache_object *obj)
{
    struct mem_cache_object *mobj = obj->vobj;
    free(mobj->m);
}

static void decrement_refcount(struct cache_object *obj)
{
    atomic_fetch_sub(&obj->refcount, 1);
    if (atomic_load(&obj->refcount) == 0)
        cleanup_cache_object(obj);
}

static void *serve(void *arg)
{
    struct cache_object *obj = arg;
    decrement_refcount(obj);
    return NULL;
}

static void create_entity(struct cache_object *obj, const char *body)
{
    obj->vobj->m_len = strlen(body);
    obj->vobj->m = malloc(obj->vobj->m_len + 1);
    strcpy(obj->vobj->m, body);
    atomic_store(&obj->refcount, REQUESTS);
}

int main(void)
{
    static struct mem_cache_object mobj;
    static struct cache_object obj = { .vobj = &mobj };
    pthread_t t[REQUESTS];
    create_entity(&obj, "<html></html>");
    for (int k = 0; k < REQUESTS; k++)
        pthread_create(&t[k], NULL, serve, &obj);
    for (int k = 0; k < REQUESTS; k++)
        pthread_join(t[k], NULL);
    return 0;
}
