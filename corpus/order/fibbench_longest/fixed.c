/*
 * fibbench_longest, repaired: a thread makes its 11 additions in one critical section,
 * so the threads cannot climb on each other's results.
 */
#include <assert.h>
#include <pthread.h>
#include <stddef.h>

#define NUM 11
#define LIMIT 46368

static int i = 1, j = 1;
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;

static void *t1(void *arg)
{
    (void)arg;
    pthread_mutex_lock(&m);
    for (int k = 0; k < NUM; k++)
        i += j;
    pthread_mutex_unlock(&m);
    return NULL;
}

static void *t2(void *arg)
{
    (void)arg;
    pthread_mutex_lock(&m);
    for (int k = 0; k < NUM; k++)
        j += i;
    pthread_mutex_unlock(&m);
    return NULL;
}

int main(void)
{
    pthread_t id1, id2;
    pthread_create(&id1, NULL, t1, NULL);
    pthread_create(&id2, NULL, t2, NULL);
    pthread_join(id1, NULL);
    pthread_join(id2, NULL);
    assert(i < LIMIT && j < LIMIT);
    return 0;
}
