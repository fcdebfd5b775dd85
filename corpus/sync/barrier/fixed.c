/*
 * barrier, repaired: the barrier has generations. The last to arrive starts the
 * next one and resets the count; the others wait for the generation to change,
 * which an early arrival at the next round cannot undo.
 */
#include <assert.h>
#include <pthread.h>
#include <stddef.h>

#define WORKERS 2
#define ROUNDS 2

struct barrier {
    pthread_mutex_t m;
    pthread_cond_t open;
    int arrived;
    int generation;
};

static struct barrier bar = { .m = PTHREAD_MUTEX_INITIALIZER, .open = PTHREAD_COND_INITIALIZER };
static int cell[ROUNDS][WORKERS];
static int number[WORKERS] = { 0, 1 };

static void barrier_wait(struct barrier *b)
{
    pthread_mutex_lock(&b->m);
    int generation = b->generation;
    b->arrived++;
    if (b->arrived == WORKERS) {
        b->arrived = 0;
        b->generation++;
        pthread_cond_broadcast(&b->open);
    }
    while (b->generation == generation)
        pthread_cond_wait(&b->open, &b->m);
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
