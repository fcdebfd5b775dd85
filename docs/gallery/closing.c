#include <pthread.h>
#include "chan.h"

static void *receiver(void *channel)
{
    void *number;
    chan_recv(channel, &number);
    return NULL;
}

int main(void)
{
    chan_t *channel = chan_init(0);
    pthread_t thread;
    pthread_create(&thread, NULL, receiver, channel);
    chan_close(channel);
    pthread_join(thread, NULL);
    return 0;
}
