/*
 * boop, repaired: the use count and the unloading flag change only under the
 * device's lock, so the unloader's test and its announcement are one step, and
 * so are the user's test and its count.
 */
#include <assert.h>
#include <pthread.h>
#include <stddef.h>

struct device {
    pthread_mutex_t lock; /* guards usecount, unloading, registered */
    int usecount;         /* open handles */
    int unloading;        /* the module is going away, no more opens */
    int registered;       /* the hardware may be touched */
    int reg;              /* the only register of the hardware */
};

static struct device boop = { .lock = PTHREAD_MUTEX_INITIALIZER, .registered = 1 };

static int boop_open(struct device *dev)
{
    int error = 0;
    pthread_mutex_lock(&dev->lock);
    if (dev->unloading)
        error = -1;
    else
        dev->usecount = dev->usecount + 1;
    pthread_mutex_unlock(&dev->lock);
    return error;
}

static void boop_write(struct device *dev, int value)
{
    assert(dev->registered);
    dev->reg = value;
}

static void boop_close(struct device *dev)
{
    pthread_mutex_lock(&dev->lock);
    dev->usecount = dev->usecount - 1;
    pthread_mutex_unlock(&dev->lock);
}

static int boop_unload(struct device *dev)
{
    int error = -1;
    pthread_mutex_lock(&dev->lock);
    if (dev->usecount == 0) {
        dev->unloading = 1;
        dev->registered = 0;
        error = 0;
    }
    pthread_mutex_unlock(&dev->lock);
    return error;
}

static void *user(void *arg)
{
    struct device *dev = arg;
    if (boop_open(dev) == 0) {
        boop_write(dev, 0x42);
        boop_close(dev);
    }
    return NULL;
}

static void *rmmod(void *arg)
{
    struct device *dev = arg;
    boop_unload(dev);
    return NULL;
}

int main(void)
{
    pthread_t t1, t2;
    pthread_create(&t1, NULL, user, &boop);
    pthread_create(&t2, NULL, rmmod, &boop);
    pthread_join(t1, NULL);
    pthread_join(t2, NULL);
    return 0;
}
