/*
 * linux-tg3, repaired: the statistics are read under tp->lock, which tg3_close
 * holds while it frees the block.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

struct tg3_hw_stats {
    uint64_t rx_ucast_packets;
};

struct tg3 {
    pthread_mutex_t lock;
    struct tg3_hw_stats *hw_stats; /* NULL while the interface is down */
    uint64_t rx_packets_prev;      /* counted before the last close */
};

static struct tg3 nic = { .lock = PTHREAD_MUTEX_INITIALIZER };

static void tg3_open(struct tg3 *tp)
{
    struct tg3_hw_stats *stats = calloc(1, sizeof *stats);
    stats->rx_ucast_packets = 17;
    tp->hw_stats = stats;
}

static uint64_t tg3_get_stats64(struct tg3 *tp)
{
    pthread_mutex_lock(&tp->lock);
    uint64_t packets = tp->rx_packets_prev;
    if (tp->hw_stats != NULL)
        packets += tp->hw_stats->rx_ucast_packets;
    pthread_mutex_unlock(&tp->lock);
    return packets;
}

static void tg3_free_consistent(struct tg3 *tp)
{
    free(tp->hw_stats);
    tp->hw_stats = NULL;
}

static void tg3_close(struct tg3 *tp)
{
    pthread_mutex_lock(&tp->lock);
    tp->rx_packets_prev += tp->hw_stats->rx_ucast_packets;
    tg3_free_consistent(tp);
    pthread_mutex_unlock(&tp->lock);
}

static void *ifconfig_down(void *arg)
{
    tg3_close(arg);
    return NULL;
}

static void *netstat(void *arg)
{
    printf("rx %llu\n", (unsigned long long)tg3_get_stats64(arg));
    return NULL;
}

int main(void)
{
    pthread_t t1, t2;
    tg3_open(&nic);
    pthread_create(&t1, NULL, netstat, &nic);
    pthread_create(&t2, NULL, ifconfig_down, &nic);
    pthread_join(t1, NULL);
    pthread_join(t2, NULL);
    return 0;
}
