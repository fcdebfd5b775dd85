/*
 * boop, of ConcBugAssist's table 5.1 (98 lines, 3 threads, atomicity violation;
 * 1 cause of 2 constraints). The original is a pthread program of SV-COMP 2015,
 * a device driver whose use count guards its removal.
 * A user opens the device (counts itself, then looks whether the module is
 * leaving), writes and closes; another thread unloads the module if no one
 * uses it.
 * The bug: in boop_unload the test of the use count and the announcement that
 * the module is leaving are not one atomic step.
 * Fails when the unloader reads a count of 0, the user counts itself and sees
 * no unloading, and the unloader takes the device away before the user writes.
 */
#include <assert.h>
#include <pthread.h>
#include <stddef.h>

struct device {
    int usecount;   /* open handles */
    int unloading;  /* the module is going away, no more opens */
    int registered; /* the hardware may be touched */
    int reg;        /* the only register of the hardware */
};

static struct device boop = { .registered = 1 };

static int boop_open(struct device *dev)
{
    dev->usecount = dev->usecount + 1;
    if (dev->unloading) {
        dev->usecount = dev->usecount - 1;
        return -1;
    }
    return 0;
}

static void boop_write(struct device *dev, int value)
{
    assert(dev->registered);
    dev->reg = value;
}

static void boop_close(struct device *dev)
{
    dev->usecount = dev->usecount - 1;
}

static int boop_unload(struct device *dev)
{
    if (dev->usecount != 0)
        return -1;
    dev->unloading = 1;
    dev->registered = 0;
    return 0;
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
