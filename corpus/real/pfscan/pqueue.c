/*
 * pfscan, a parallel file scanner; this file holds its work queue, and the bug.
 *
 * Modelled on: Symbiosis (DSP), section 3.1 and figure 2, the running example
 * "pfscan", there a version of the real program modified by Elmas et al.; also
 * one of Tinertia's programs (table 1, from the Inspect suite). The scanner
 * around it was written from what such a tool does: options (pfscan.c), a walk
 * over directories (walk.c), workers (scan.c), a string search (search.c) and
 * the output of matches (report.c).
 *
 * The bug: the test that the queue is non-empty (await_element) and the
 * removal (remove_element) are two critical sections instead of one.
 * The failing interleaving, with one element left: worker A sees filled == 1
 * and leaves the lock; worker B sees filled == 1 too; A removes the element;
 * B takes the lock again and its assertion reads filled == 0.
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

/* Waits until there is an element (1) or there will never be one (0). */
static int await_element(struct pqueue *qp)
{
    int found;

    pthread_mutex_lock(&qp->mtx);
    if (qp->filled <= 0)
        qp->stalls++;
    while (qp->filled <= 0 && !qp->closed)
        pthread_cond_wait(&qp->more, &qp->mtx);
    found = qp->filled > 0;
    pthread_mutex_unlock(&qp->mtx);
    return found;
}

static void *remove_element(struct pqueue *qp)
{
    void *item;

    pthread_mutex_lock(&qp->mtx);
    assert(qp->filled > 0);
    qp->filled--;
    item = qp->buf[qp->nextout];
    qp->nextout = (qp->nextout + 1) % qp->qsize;
    qp->gets++;
    pthread_cond_signal(&qp->less);
    pthread_mutex_unlock(&qp->mtx);
    return item;
}

int pqueue_get(struct pqueue *qp, void **item)
{
    if (!await_element(qp))
        return 0;
    *item = remove_element(qp);
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
