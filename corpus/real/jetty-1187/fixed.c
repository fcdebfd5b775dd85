/*
 * jetty-1187, repaired: the counter is an atomic integer.
 */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

#define SELECT_SETS 2

struct select_set {
    pthread_mutex_t lock;
    int changes; /* channels waiting to be added, under lock */
};

struct selector_manager {
    atomic_int set; /* _set: counts registrations */
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
    int s = atomic_fetch_add(&m->set, 1);
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
