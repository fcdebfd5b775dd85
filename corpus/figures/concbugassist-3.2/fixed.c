/*
 * Figure 3.2 of the ConcBugAssist thesis, repaired: each thread sets x and y in
 * one critical section.
 */
#include <assert.h>
#include <pthread.h>
#include <stddef.h>

static int x = 0;
static int y = 0;
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;

static void *f1(void *arg)
{
    (void)arg;
    pthread_mutex_lock(&m);
    x = 0;
    y = 0;
    pthread_mutex_unlock(&m);
    return NULL;
}

static void *f2(void *arg)
{
    (void)arg;
    pthread_mutex_lock(&m);
    x = 1;
    y = 1;
    pthread_mutex_unlock(&m);
    return NULL;
}

int main(void)
{
    pthread_t t1, t2;
    pthread_create(&t1, NULL, f1, NULL);
    pthread_create(&t2, NULL, f2, NULL);

    pthread_join(t1, NULL);
    pthread_join(t2, NULL);
    assert(x == y);
    return 0;
}
