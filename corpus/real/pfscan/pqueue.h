/* A bounded queue of pointers between one walker and many scanners. */
#ifndef PQUEUE_H
#define PQUEUE_H

#include <pthread.h>

struct pqueue {
    void **buf;          /* ring of qsize slots */
    int qsize;
    int filled;          /* slots in use */
    int nextin;          /* where the next put goes */
    int nextout;         /* where the next get comes from */
    int closed;          /* nothing more will be put */
    unsigned long puts;  /* statistics, see pqueue_totals() */
    unsigned long gets;
    unsigned long stalls;
    pthread_mutex_t mtx; /* protects every field above */
    pthread_cond_t more; /* an element came, or the queue was closed */
    pthread_cond_t less; /* a slot came free */
};

struct pqueue_totals {
    unsigned long puts;
    unsigned long gets;
    unsigned long stalls; /* how often a get found the queue empty */
};

/* Returns 0, or -1 if there is no memory. */
int pqueue_init(struct pqueue *qp, int qsize);

/* Frees the ring. No thread may use the queue any more; it must be empty. */
void pqueue_destroy(struct pqueue *qp);

/* After this, getters that find the queue empty return instead of waiting. */
void pqueue_close(struct pqueue *qp);

/* Waits for a free slot. Returns 1, or 0 if the queue is closed. */
int pqueue_put(struct pqueue *qp, void *item);

/* Waits for an element. Returns 1, or 0 if the queue is closed and drained. */
int pqueue_get(struct pqueue *qp, void **item);

void pqueue_read_totals(struct pqueue *qp, struct pqueue_totals *totals);

#endif
