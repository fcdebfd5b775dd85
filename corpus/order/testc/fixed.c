/*
 * testc, repaired: the dispatcher has a lock, and a share is worked out from one
 * reading of `channels` made under it.
 */
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>

struct dispatcher {
    pthread_mutex_t lock;
    int budget;   /* never changes */
    int channels; /* open channels, under lock */
};

static struct dispatcher d = { .lock = PTHREAD_MUTEX_INITIALIZER, .budget = 100, .channels = 4 };

static int share(struct dispatcher *p)
{
    pthread_mutex_lock(&p->lock);
    int channels = p->channels;
    pthread_mutex_unlock(&p->lock);
    if (channels != 0)
        return p->budget / channels;
    return p->budget;
}

static void close_all(struct dispatcher *p)
{
    pthread_mutex_lock(&p->lock);
    p->channels = 0;
    pthread_mutex_unlock(&p->lock);
}

static void *closer(void *arg)
{
    close_all(arg);
    return NULL;
}

int main(void)
{
    pthread_t t;
    pthread_create(&t, NULL, closer, &d);
    int s = share(&d);
    pthread_join(t, NULL);
    printf("share %d\n", s);
    return 0;
}
