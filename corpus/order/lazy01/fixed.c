/*
 * lazy01, repaired: the second deposit waits until the audit has been made.
 */
#include <assert.h>
#include <pthread.h>
#include <stddef.h>

struct account {
    pthread_mutex_t mutex;
    pthread_cond_t done; /* audited became 1 */
    int audited;         /* under mutex */
    int data;            /* under mutex */
};

static struct account acc = { .mutex = PTHREAD_MUTEX_INITIALIZER, .done = PTHREAD_COND_INITIALIZER };

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
    while (!a->audited)
        pthread_cond_wait(&a->done, &a->mutex);
    a->data += 2;
    pthread_mutex_unlock(&a->mutex);
    return NULL;
}

static void *thread3(void *arg)
{
    struct account *a = arg;
    pthread_mutex_lock(&a->mutex);
    assert(a->data < 3);
    a->audited = 1;
    pthread_cond_signal(&a->done);
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
