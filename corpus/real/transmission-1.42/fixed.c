/*
 * transmission-1.42, repaired as in Transmission: the session is initialised before
 * the peer manager's thread is started.
 */
#include <assert.h>
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>

struct tr_bandwidth {
    int limit; /* KB/s */
    int left;
};

struct tr_handle {
    struct tr_bandwidth *bandwidth;
};

static struct tr_handle session;

static struct tr_bandwidth *tr_bandwidth_new(int limit)
{
    struct tr_bandwidth *b = malloc(sizeof *b);
    b->limit = limit;
    b->left = 0;
    return b;
}

static void tr_bandwidth_allocate(struct tr_bandwidth *b, int msec)
{
    b->left = b->limit * msec / 1000;
}

static void *init(void *arg)
{
    struct tr_handle *h = arg;
    h->bandwidth = tr_bandwidth_new(200);
    return NULL;
}

static void *allocate(void *arg)
{
    struct tr_handle *h = arg;
    assert(h->bandwidth != NULL);
    tr_bandwidth_allocate(h->bandwidth, 500);
    return NULL;
}

int main(void)
{
    pthread_t t1, t2;
    pthread_create(&t1, NULL, init, &session);
    pthread_join(t1, NULL);
    pthread_create(&t2, NULL, allocate, &session);
    pthread_join(t2, NULL);
    free(session.bandwidth);
    return 0;
}
