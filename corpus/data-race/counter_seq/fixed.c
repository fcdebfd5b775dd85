/*
 * counter_seq, repaired: as in the book, a lock makes the read and the write one step.
 */
#include <assert.h>
#include <pthread.h>
#include <stddef.h>

struct counter {
    pthread_mutex_t lock;
    int value;
};

struct client {
    struct counter *counter;
    int ticket;
};

static int counter_get_and_increment(struct counter *c)
{
    pthread_mutex_lock(&c->lock);
    int temp = c->value;
    c->value = temp + 1;
    pthread_mutex_unlock(&c->lock);
    return temp;
}

static void *take_ticket(void *arg)
{
    struct client *me = arg;
    me->ticket = counter_get_and_increment(me->counter);
    return NULL;
}

int main(void)
{
    static struct counter c = { .lock = PTHREAD_MUTEX_INITIALIZER };
    struct client a = { &c, 0 }, b = { &c, 0 };
    pthread_t t1, t2;
    pthread_create(&t1, NULL, take_ticket, &a);
    pthread_create(&t2, NULL, take_ticket, &b);
    pthread_join(t1, NULL);
    pthread_join(t2, NULL);
    assert(a.ticket != b.ticket);
    return 0;
}
