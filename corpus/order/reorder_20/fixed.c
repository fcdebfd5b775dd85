/*
 * reorder_20, repaired: the pair changes and is looked at under one lock.
 */
#include <assert.h>
#include <pthread.h>
#include <stddef.h>

#define SETTERS 19

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static int a = 0;
static int b = 0;

static void *set_thread(void *arg)
{
    (void)arg;
    pthread_mutex_lock(&m);
    a = 1;
    b = -1;
    pthread_mutex_unlock(&m);
    return NULL;
}

static void *check_thread(void *arg)
{
    (void)arg;
    pthread_mutex_lock(&m);
    assert((a == 0 && b == 0) || (a == 1 && b == -1));
    pthread_mutex_unlock(&m);
    return NULL;
}

int main(void)
{
    pthread_t setter[SETTERS], checker;
    for (int k = 0; k < SETTERS; k++)
        pthread_create(&setter[k], NULL, set_thread, NULL);
    pthread_create(&checker, NULL, check_thread, NULL);

    for (int k = 0; k < SETTERS; k++)
        pthread_join(setter[k], NULL);
    pthread_join(checker, NULL);
    return 0;
}
