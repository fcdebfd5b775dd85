/*
 * Modelled on channels that can be closed: whoever waits for something to read looks at "closed", too, but whoever waits for room
 * does not. A sender that finds the channel full after it was closed waits for room for ever; that closing wakes everybody does not
 * help it, whether it comes before the wait or during it.
 *
 * Fails if the second message is sent after the check of "closed" in the first send has passed, and nobody receives any more.
 */
#include <pthread.h>
#include <stdio.h>

#define ROOM 1

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int queued;
static int closed;

static int put(void)
{
    pthread_mutex_lock(&lock);
    while (queued == ROOM)
        pthread_cond_wait(&changed, &lock);
    if (closed) {
        pthread_mutex_unlock(&lock);
        return 0;
    }
    queued++;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
    return 1;
}

static void *sender(void *unused)
{
    (void)unused;
    if (put() && !put())
        puts("closed in between");
    return NULL;
}

int main(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, sender, NULL);
    pthread_mutex_lock(&lock);
    closed = 1;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
    pthread_join(thread, NULL);
    return 0;
}
