/*
 * The work queue of pfscan without its bug: the twin of pqueue.c. All other
 * files of the program are shared by both.
 *
 * Testing for an element, waiting for one and removing it are one critical
 * section, so that what the loop saw still holds when the element is taken.
 */
#include "pqueue.h"

#include <assert.h>
#include <stdlib.h>

int pqueue_init(struct pqueue *qp, int qsize)
{
    qp->buf = calloc((size_t)qsize, sizeof(void *));
    if (qp->buf == NULL)
        return -1;
    qp->qsize = qsize;
    qp->filled = 0;
    qp->nextin = 0;
    qp->nextout = 0;
    qp->closed = 0;
    qp->puts = 0;
    qp->gets = 0;
    qp->stalls = 0;
    pthread_mutex_init(&qp->mtx, NULL);
    pthread_cond_init(&qp->more, NULL);
    pthread_cond_init(&qp->less, NULL);
    return 0;
}

void pqueue_destroy(struct pqueue *qp)
{
    assert(qp->filled == 0);
    pthread_cond_destroy(&qp->less);
    pthread_cond_destroy(&qp->more);
    pthread_mutex_destroy(&qp->mtx);
    free(qp->buf);
    qp->buf = NULL;
}

void pqueue_close(struct pqueue *qp)
{
    pthread_mutex_lock(&qp->mtx);
    qp->closed = 1;
    pthread_cond_broadcast(&qp->more);
    pthread_cond_broadcast(&qp->less);
    pthread_mutex_unlock(&qp->mtx);
}

int pqueue_put(struct pqueue *qp, void *item)
{
    pthread_mutex_lock(&qp->mtx);
    while (qp->filled >= qp->qsize && !qp->closed)
        pthread_cond_wait(&qp->less, &qp->mtx);
    if (qp->closed) {
        pthread_mutex_unlock(&qp->mtx);
        return 0;
    }
    qp->buf[qp->nextin] = item;
    qp->nextin = (qp->nextin + 1) % qp->qsize;
    qp->filled++;
    qp->puts++;
    pthread_cond_signal(&qp->more);
    pthread_mutex_unlock(&qp->mtx);
    return 1;
}

int pqueue_get(struct pqueue *qp, void **item)
{
    pthread_mutex_lock(&qp->mtx);
    if (qp->filled <= 0)
        qp->stalls++;
    while (qp->filled <= 0 && !qp->closed)
        pthread_cond_wait(&qp->more, &qp->mtx);
    if (qp->filled <= 0) {
        pthread_mutex_unlock(&qp->mtx);
        return 0;
    }
    assert(qp->filled > 0);
    qp->filled--;
    *item = qp->buf[qp->nextout];
    qp->nextout = (qp->nextout + 1) % qp->qsize;
    qp->gets++;
    pthread_cond_signal(&qp->less);
    pthread_mutex_unlock(&qp->mtx);
    return 1;
}

void pqueue_read_totals(struct pqueue *qp, struct pqueue_totals *totals)
{
    pthread_mutex_lock(&qp->mtx);
    totals->puts = qp->puts;
    totals->gets = qp->gets;
    totals->stalls = qp->stalls;
    pthread_mutex_unlock(&qp->mtx);
}
