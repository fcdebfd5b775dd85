/*
 * lazy01, of ConcBugAssist's table 5.1 (55 lines, 4 threads, there called a data
 * race; 2 causes of 2 constraints). The original is a pthread program of SV-COMP
 * 2015: two threads add to a counter, a third one checks it, all under one lock.
 * The checker audits a lazily filled account and must see it before both
 * deposits have been made.
 * The bug: the lock makes every step atomic, but nothing says which step comes
 * first.
 * Fails when both deposits, in either order, come before the audit.
 */
#include <assert.h>
#include <pthread.h>
#include <stddef.h>

struct account {
    pthread_mutex_t mutex;
    int data; /* under mutex */
};

static struct account acc = { .mutex = PTHREAD_MUTEX_INITIALIZER };

static void *thread1(void *arg)
{
    struct account *a = arg;
    pthread_mutex_lock(&a->mutex);
    a->data += 1;
    pthread_mutex_unlock(&a->mutex);
    return NULL;
}

static void *thread2(void *arg)
{
    struct account *a = arg;
    pthread_mutex_lock(&a->mutex);
    a->data += 2;
    pthread_mutex_unlock(&a->mutex);
    return NULL;
}

static void *thread3(void *arg)
{
    struct account *a = arg;
    pthread_mutex_lock(&a->mutex);
    assert(a->data < 3);
    pthread_mutex_unlock(&a->mutex);
    return NULL;
}

int main(void)
{
    pthread_t t1, t2, t3;
    pthread_create(&t1, NULL, thread1, &acc);
    pthread_create(&t2, NULL, thread2, &acc);
    pthread_create(&t3, NULL, thread3, &acc);
    pthread_join(t1, NULL);
    pthread_join(t2, NULL);
    pthread_join(t3, NULL);
    return 0;
}
