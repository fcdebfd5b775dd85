/*
 * queue_seq, repaired: the queue has a lock, held by enq and deq from end to end.
 */
#include <assert.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

#define CAPACITY 4

struct queue {
    pthread_mutex_t lock;
    int items[CAPACITY];
    int head; /* next to take */
    int tail; /* next free */
};

static struct queue q = { .lock = PTHREAD_MUTEX_INITIALIZER };

static bool queue_enq(struct queue *s, int x)
{
    pthread_mutex_lock(&s->lock);
    bool room = s->tail - s->head < CAPACITY;
    if (room) {
        s->items[s->tail % CAPACITY] = x;
        s->tail++;
    }
    pthread_mutex_unlock(&s->lock);
    return room;
}

static bool queue_deq(struct queue *s, int *x)
{
    pthread_mutex_lock(&s->lock);
    bool any = s->tail != s->head;
    if (any) {
        *x = s->items[s->head % CAPACITY];
        s->head++;
    }
    pthread_mutex_unlock(&s->lock);
    return any;
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
