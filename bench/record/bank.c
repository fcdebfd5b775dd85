/* Lock-heavy: transfers between accounts, a lock an account. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { ACCOUNTS = 64, THREADS = 3 };
static struct { pthread_mutex_t lock; long balance; } accounts[ACCOUNTS];
static long transfers;

static unsigned checksum(unsigned x)
{
    for (int i = 0; i < 12; i++)
        x = x & 1 ? x >> 1 ^ 0xedb88320u : x >> 1;
    return x;
}

static void *work(void *argument)
{
    unsigned seed = (unsigned)(long)argument;
    for (long i = 0; i < transfers; i++) {
        seed = seed * 1664525u + 1013904223u;
        int from = (int)(seed >> 8) % ACCOUNTS, to = (int)(seed >> 20) % ACCOUNTS;
        unsigned amount = checksum(seed) % 100;
        if (from == to)
            continue;
        int low = from < to ? from : to, high = from < to ? to : from;
        pthread_mutex_lock(&accounts[low].lock);
        pthread_mutex_lock(&accounts[high].lock);
        if (accounts[from].balance >= (long)amount) {
            accounts[from].balance -= amount;
            accounts[to].balance += amount;
        }
        pthread_mutex_unlock(&accounts[high].lock);
        pthread_mutex_unlock(&accounts[low].lock);
    }
    return 0;
}

int main(int argc, char **argv)
{
    pthread_t threads[THREADS];
    long sum = 0;
    transfers = 10000L * (argc > 1 ? atoi(argv[1]) : 1);
    for (int i = 0; i < ACCOUNTS; i++) {
        pthread_mutex_init(&accounts[i].lock, 0);
        accounts[i].balance = 1000;
    }
    for (long i = 0; i < THREADS; i++)
        pthread_create(&threads[i], 0, work, (void *)(i + 1));
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], 0);
    for (int i = 0; i < ACCOUNTS; i++)
        sum += accounts[i].balance;
    printf("%ld\n", sum);
    return 0;
}
