#include <pthread.h>
#include "chan.h"

static chan_t *channel;

static void *sender(void *number)
{
    chan_send(channel, number);
    return NULL;
}

static void *receiver(void *unused)
{
    void *number;
    chan_recv(channel, &number);
    return unused;
}

int main(void)
{
    channel = chan_init(1);
    pthread_t senders[2], receivers[2];
    for (int i = 0; i < 2; i++) {
        pthread_create(&senders[i], NULL, sender, NULL);
        pthread_create(&receivers[i], NULL, receiver, NULL);
    }
    for (int i = 0; i < 2; i++) {
        pthread_join(senders[i], NULL);
        pthread_join(receivers[i], NULL);
    }
    chan_dispose(channel);
    return 0;
}
