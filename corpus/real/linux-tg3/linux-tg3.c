/*
 * linux-tg3, of ConcBugAssist's table 5.1 (115 lines, 3 threads, order violation;
 * 1 cause of 2 constraints). The original, by way of Bloem et al., is a race in
 * the Linux driver of Broadcom's Tigon3 Ethernet cards: the statistics block that
 * the card fills by DMA was read without a lock while the interface was closed.
 * One thread asks for statistics, another brings the interface down and frees the
 * block; the totals so far are kept for later questions.
 * The bug: tg3_get_stats64 looks at tp->hw_stats and follows the pointer without
 * holding tp->lock.
 * Fails (use after free) when it has read the pointer, tg3_close frees the block,
 * and the counter is read then.
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
    struct tg3_hw_stats *hw_stats = tp->hw_stats;
    if (hw_stats == NULL)
        return tp->rx_packets_prev;
    return tp->rx_packets_prev + hw_stats->rx_ucast_packets;
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
