/*
 * queue_seq, of ConcBugAssist's table 5.1 (97 lines, 3 threads, data race; 2
 * causes, 1 unique constraint). The original is the bounded array queue of Herlihy
 * and Shavit's book, with its lock taken out.
 * The queue holds two items; two threads take one each.
 * The bug: queue_deq reads the item at head and moves head in separate steps.
 * Fails when both threads read head for their item before either has moved it:
 * both get the first item, and the second is left.
 */
#include <assert.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

#define CAPACITY 4

struct queue {
    int items[CAPACITY];
    int head; /* next to take */
    int tail; /* next free */
};

static struct queue q;

static bool queue_enq(struct queue *s, int x)
{
    if (s->tail - s->head == CAPACITY)
        return false;
    s->items[s->tail % CAPACITY] = x;
    s->tail++;
    return true;
}

static bool queue_deq(struct queue *s, int *x)
{
    if (s->tail == s->head)
        return false;
    *x = s->items[s->head % CAPACITY];
    s->head++;
    return true;
}

static void *consumer(void *arg)
{
    queue_deq(&q, arg);
    return NULL;
}

int main(void)
{
    int x = 0, y = 0;
    pthread_t t1, t2;
    queue_enq(&q, 10);
    queue_enq(&q, 20);
    pthread_create(&t1, NULL, consumer, &x);
    pthread_create(&t2, NULL, consumer, &y);
    pthread_join(t1, NULL);
    pthread_join(t2, NULL);
    assert(x + y == 30);
    return 0;
}
