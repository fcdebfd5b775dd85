/*
 * jetty-1187, of ConcBugAssist's table 5.1 (74 lines, 3 threads, order violation;
 * 2 causes of 1 constraint). The original is bug JETTY-1187 of the Jetty HTTP
 * server, in Java: SelectorManager hands new channels to its select sets in turn,
 * by the counter _set, which is volatile but incremented by _set++.
 * Two acceptors register one channel each; each of the two select sets should get
 * one. A select set's list of changes has a lock (synchronized in the original).
 * The bug: the increment is a read and a write.
 * Fails when both acceptors read _set before either has written it back.
 */
#include <assert.h>
#include <pthread.h>
#include <stddef.h>

#define SELECT_SETS 2

struct select_set {
    pthread_mutex_t lock;
    int changes; /* channels waiting to be added, under lock */
};

struct selector_manager {
    volatile int set; /* _set: counts registrations */
    struct select_set select_set[SELECT_SETS];
};

static struct selector_manager manager = {
    .select_set = { { .lock = PTHREAD_MUTEX_INITIALIZER }, { .lock = PTHREAD_MUTEX_INITIALIZER } },
};

static void add_change(struct select_set *s)
{
    pthread_mutex_lock(&s->lock);
    s->changes++;
    pthread_mutex_unlock(&s->lock);
}

static void register_channel(struct selector_manager *m)
{
    int s = m->set++;
    s = s % SELECT_SETS;
    add_change(&m->select_set[s]);
}

static void *acceptor(void *arg)
{
    register_channel(arg);
    return NULL;
}

int main(void)
{
    pthread_t t1, t2;
    pthread_create(&t1, NULL, acceptor, &manager);
    pthread_create(&t2, NULL, acceptor, &manager);
    pthread_join(t1, NULL);
    pthread_join(t2, NULL);
    assert(manager.select_set[0].changes == 1 && manager.select_set[1].changes == 1);
    return 0;
}
