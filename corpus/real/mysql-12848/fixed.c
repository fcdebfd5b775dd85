/*
 * mysql-12848, repaired: resize holds the lock from the moment the old cache goes
 * until the new one stands.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define BLOCK 4

struct query_cache {
    pthread_mutex_t structure_guard_mutex;
    size_t query_cache_size; /* 0: the cache is off */
    int *cache;              /* query_cache_size results */
    size_t used;
};

static struct query_cache query_cache = { .structure_guard_mutex = PTHREAD_MUTEX_INITIALIZER };

/* The caller holds the lock, here and in free_cache. */
static void init_cache(struct query_cache *qc, size_t size)
{
    qc->cache = calloc(size, sizeof *qc->cache);
    qc->query_cache_size = size;
    qc->used = 0;
}

static void free_cache(struct query_cache *qc)
{
    free(qc->cache);
    qc->cache = NULL;
}

static void resize(struct query_cache *qc, size_t size)
{
    pthread_mutex_lock(&qc->structure_guard_mutex);
    free_cache(qc);
    init_cache(qc, size);
    pthread_mutex_unlock(&qc->structure_guard_mutex);
}

static void store_query(struct query_cache *qc, int result)
{
    pthread_mutex_lock(&qc->structure_guard_mutex);
    if (qc->query_cache_size != 0) {
        size_t at = qc->used % BLOCK;
        qc->cache[at] = result;
        qc->used = at + 1;
    }
    pthread_mutex_unlock(&qc->structure_guard_mutex);
}

static void *session(void *arg)
{
    struct query_cache *qc = arg;
    store_query(qc, 42);
    return NULL;
}

int main(void)
{
    pthread_t t;
    init_cache(&query_cache, BLOCK);
    pthread_create(&t, NULL, session, &query_cache);
    resize(&query_cache, 2 * BLOCK);
    pthread_join(t, NULL);
    printf("cached %zu\n", query_cache.used);
    free_cache(&query_cache);
    return 0;
}
