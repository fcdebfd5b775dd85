/*
 * linux-iio, repaired as in the kernel: counting down and testing for zero are one
 * atomic operation.
 */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

#define CONSUMERS 2

struct iio_trigger {
    atomic_int use_count;     /* consumers still busy */
    pthread_mutex_t reg_lock; /* the device's registers */
    int enabled;              /* times the trigger was enabled, under reg_lock */
};

static struct iio_trigger trig = { .reg_lock = PTHREAD_MUTEX_INITIALIZER };

static void try_reenable(struct iio_trigger *t)
{
    pthread_mutex_lock(&t->reg_lock);
    t->enabled++;
    pthread_mutex_unlock(&t->reg_lock);
}

static void iio_trigger_notify_done(struct iio_trigger *t)
{
    if (atomic_fetch_sub(&t->use_count, 1) == 1)
        try_reenable(t);
}

static void *consumer(void *arg)
{
    struct iio_trigger *t = arg;
    iio_trigger_notify_done(t);
    return NULL;
}

static void iio_trigger_poll(struct iio_trigger *t, pthread_t thread[CONSUMERS])
{
    atomic_store(&t->use_count, CONSUMERS);
    for (int k = 0; k < CONSUMERS; k++)
        pthread_create(&thread[k], NULL, consumer, t);
}

int main(void)
{
    pthread_t thread[CONSUMERS];
    iio_trigger_poll(&trig, thread);
    for (int k = 0; k < CONSUMERS; k++)
        pthread_join(thread[k], NULL);
    assert(trig.enabled == 1);
    return 0;
}
