/*
 * barrier, of ConcBugAssist's table 5.1 (85 lines, 4 threads, order violation;
 * 9 causes of 1.6 constraints). The original is a pthread program of SV-COMP
 * 2015, a barrier made of a mutex, a condition variable and a counter.
 * Workers fill their cell of a table, meet at the barrier, and read all cells,
 * two rounds long. Whoever leaves the barrier last resets it for the next round.
 * The bug: nothing keeps a fast worker from arriving at the next round before
 * the slow one has left this one; it finds the old count and walks through.
 * Fails when the worker that opened the barrier takes the mutex again, for the
 * second round, before the sleeping worker does: then it reads a cell of round
 * two that has not been filled.
 */
#include <assert.h>
#include <pthread.h>
#include <stddef.h>

#define WORKERS 2
#define ROUNDS 2

struct barrier {
    pthread_mutex_t m;
    pthread_cond_t open;
    int arrived; /* stays at WORKERS until the last has left */
    int left;
};

static struct barrier bar = { .m = PTHREAD_MUTEX_INITIALIZER, .open = PTHREAD_COND_INITIALIZER };
static int cell[ROUNDS][WORKERS];
static int number[WORKERS] = { 0, 1 };

static void barrier_wait(struct barrier *b)
{
    pthread_mutex_lock(&b->m);
    b->arrived++;
    if (b->arrived >= WORKERS)
        pthread_cond_broadcast(&b->open);
    while (b->arrived < WORKERS)
        pthread_cond_wait(&b->open, &b->m);
    b->left++;
    if (b->left == WORKERS) {
        b->left = 0;
        b->arrived = 0;
    }
    pthread_mutex_unlock(&b->m);
}

static void *worker(void *arg)
{
    int me = *(int *)arg;
    for (int round = 0; round < ROUNDS; round++) {
        cell[round][me] = 1;
        barrier_wait(&bar);
        int filled = 0;
        for (int k = 0; k < WORKERS; k++)
            filled += cell[round][k];
        assert(filled == WORKERS);
    }
    return NULL;
}

int main(void)
{
    pthread_t t[WORKERS];
    for (int k = 0; k < WORKERS; k++)
        pthread_create(&t[k], NULL, worker, &number[k]);
    for (int k = 0; k < WORKERS; k++)
        pthread_join(t[k], NULL);
    return 0;
}
