/*
 * counter_seq, of ConcBugAssist's table 5.1 (41 lines, 3 threads, data race; 2
 * causes of 3 constraints). The original is the shared counter of Herlihy and
 * Shavit's book, with its lock taken out.
 * Two threads take a number each from the counter; the numbers must differ.
 * The bug: counter_get_and_increment reads and writes the value in two steps.
 * Fails when both threads read before either has written: both get number 0.
 */
#include <assert.h>
#include <pthread.h>
#include <stddef.h>

struct counter {
    int value;
};

struct client {
    struct counter *counter;
    int ticket;
};

static int counter_get_and_increment(struct counter *c)
{
    int temp = c->value;
    c->value = temp + 1;
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
    static struct counter c;
    struct client a = { &c, 0 }, b = { &c, 0 };
    pthread_t t1, t2;
    pthread_create(&t1, NULL, take_ticket, &a);
    pthread_create(&t2, NULL, take_ticket, &b);
    pthread_join(t1, NULL);
    pthread_join(t2, NULL);
    assert(a.ticket != b.ticket);
    return 0;
}
