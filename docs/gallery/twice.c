#include <assert.h>
#include <pthread.h>
#include "chan.h"

static void *sender(void *channel)
{
    chan_send(channel, (void *)1);
    chan_send(channel, (void *)2);
    return NULL;
}

int main(void)
{
    chan_t *channel = chan_init(0);
    pthread_t thread;
    void *first, *second;
    pthread_create(&thread, NULL, sender, channel);
    chan_recv(channel, &first);
    chan_recv(channel, &second);
    assert(first != second);
    pthread_join(thread, NULL);
    chan_dispose(channel);
    return 0;
}
