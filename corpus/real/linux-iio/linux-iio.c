/*
 * linux-iio, of ConcBugAssist's table 5.1 (87 lines, 3 threads, atomicity
 * violation; 5 causes of 4.4 constraints). The original, by way of Bloem et al.,
 * is a race in the triggers of Linux' industrial I/O subsystem.
 * A trigger that fires counts its consumers in use_count and runs them; each
 * consumer tells when it is done, and the last one enables the trigger again.
 * The bug: iio_trigger_notify_done counts down and tests for zero in separate,
 * unlocked steps (the kernel now uses an atomic decrement-and-test).
 * Fails when a decrement is lost, so that no consumer finds zero and the trigger
 * stays off; or when both have decremented before either tests, so that it is
 * enabled twice.
 */
#include <assert.h>
#include <pthread.h>
#include <stddef.h>

#define CONSUMERS 2

struct iio_trigger {
    int use_count;            /* consumers still busy */
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
    t->use_count--;
    if (t->use_count == 0)
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
    t->use_count = CONSUMERS;
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
