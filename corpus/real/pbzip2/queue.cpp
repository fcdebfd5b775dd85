// The queue of blocks: a ring whose lock and conditions live on the heap.
#include "pbzip2.h"

#include <cassert>

queue *queueInit()
{
    queue *q = new queue;

    q->head = 0;
    q->tail = 0;
    q->full = false;
    q->empty = true;
    q->mut = new pthread_mutex_t;
    pthread_mutex_init(q->mut, nullptr);
    q->notFull = new pthread_cond_t;
    pthread_cond_init(q->notFull, nullptr);
    q->notEmpty = new pthread_cond_t;
    pthread_cond_init(q->notEmpty, nullptr);
    return q;
}

void queueDelete(queue *q)
{
    if (q == nullptr)
        return;
    if (q->mut != nullptr) {
        pthread_mutex_destroy(q->mut);
        delete q->mut;
        q->mut = nullptr;
    }
    if (q->notFull != nullptr) {
        pthread_cond_destroy(q->notFull);
        delete q->notFull;
        q->notFull = nullptr;
    }
    if (q->notEmpty != nullptr) {
        pthread_cond_destroy(q->notEmpty);
        delete q->notEmpty;
        q->notEmpty = nullptr;
    }
    delete q;
}

void queueAdd(queue *q, const Block &block)
{
    assert(!q->full);
    q->blocks[q->tail] = block;
    q->tail = (q->tail + 1) % QUEUESIZE;
    q->full = q->tail == q->head;
    q->empty = false;
}

Block queueDel(queue *q)
{
    assert(!q->empty);
    Block block = q->blocks[q->head];
    q->head = (q->head + 1) % QUEUESIZE;
    q->empty = q->head == q->tail;
    q->full = false;
    return block;
}
