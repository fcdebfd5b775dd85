/*
 * mysql-12848, of ConcBugAssist's table 5.1 (142 lines, 2 threads, atomicity
 * violation; 4 causes of 4 constraints). The original is MySQL bug 12848: the
 * server crashes when the query cache is resized while queries use it.
 * Query_cache::resize frees the cache and sets it up anew, each step under the
 * cache's lock; under it too store_query looks whether the cache is on and stores
 * its result.
 * The bug: between the two steps of resize the lock is free and the cache is
 * gone, while query_cache_size still says that it is on.
 * Fails (null dereference) when a query takes the lock after free_cache has
 * cleared the pointer and before init_cache sets it again.
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

static void init_cache(struct query_cache *qc, size_t size)
{
    pthread_mutex_lock(&qc->structure_guard_mutex);
    qc->cache = calloc(size, sizeof *qc->cache);
    qc->query_cache_size = size;
    qc->used = 0;
    pthread_mutex_unlock(&qc->structure_guard_mutex);
}

static void free_cache(struct query_cache *qc)
{
    pthread_mutex_lock(&qc->structure_guard_mutex);
    free(qc->cache);
    qc->cache = NULL;
    pthread_mutex_unlock(&qc->structure_guard_mutex);
}

static void resize(struct query_cache *qc, size_t size)
{
    free_cache(qc);
    init_cache(qc, size);
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
