/*
 * transmission-1.42, of ConcBugAssist's table 5.1 (78 lines, 3 threads, order
 * violation) and its figure 5.2. The original is a bug of the Transmission
 * BitTorrent client, from Yu and Narayanasamy's collection.
 * One thread initialises the session, and with it the bandwidth object; the peer
 * manager's thread allocates bandwidth to the peers by it, 500 milliseconds later
 * in the original, which was taken to be late enough.
 * The bug: nothing orders the initialisation before the first use.
 * Fails when allocate asserts that h->bandwidth is there before init has stored it.
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
    pthread_create(&t2, NULL, allocate, &session);
    pthread_join(t1, NULL);
    pthread_join(t2, NULL);
    free(session.bandwidth);
    return 0;
}
