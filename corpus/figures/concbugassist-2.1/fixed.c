/*
 * Figure 2.1 of the ConcBugAssist thesis, repaired: the check and the assertion
 * are one critical section, and f stores under the same lock.
 */
#include <assert.h>
#include <pthread.h>
#include <stddef.h>

static pthread_t t1;
static int x = 1;
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;

static void *f(void *arg)
{
    (void)arg;
    pthread_mutex_lock(&m);
    x = 0;
    pthread_mutex_unlock(&m);
    return NULL;
}

int main(void)
{
    pthread_create(&t1, NULL, f, NULL);
    pthread_mutex_lock(&m);
    if (x != 0)
        assert(x != 0);
    pthread_mutex_unlock(&m);
    pthread_join(t1, NULL);
    return 0;
}
