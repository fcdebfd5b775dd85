/* Lock-heavy: a bounded queue between producers and consumers, with conditions; each item is worked on. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { ROOM = 64 };
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t not_empty = PTHREAD_COND_INITIALIZER, not_full = PTHREAD_COND_INITIALIZER;
static unsigned items[ROOM];
static int first, count;
static long each;

static void *produce(void *argument)
{
    unsigned seed = (unsigned)(long)argument;
    for (long i = 0; i < each; i++) {
        seed = seed * 1664525u + 1013904223u;
        pthread_mutex_lock(&lock);
        while (count == ROOM)
            pthread_cond_wait(&not_full, &lock);
        items[(first + count++) % ROOM] = seed;
        pthread_cond_signal(&not_empty);
        pthread_mutex_unlock(&lock);
    }
    return 0;
}

static void *consume(void *argument)
{
    unsigned long sum = 0;
    (void)argument;
    for (long i = 0; i < each; i++) {
        pthread_mutex_lock(&lock);
        while (count == 0)
            pthread_cond_wait(&not_empty, &lock);
        unsigned item = items[first];
        first = (first + 1) % ROOM;
        count--;
        pthread_cond_signal(&not_full);
        pthread_mutex_unlock(&lock);
        for (int j = 0; j < 24; j++)
            item = item & 1 ? item >> 1 ^ 0x82f63b78u : item >> 1;
        sum += item;
    }
    return (void *)sum;
}

int main(int argc, char **argv)
{
    pthread_t threads[4];
    unsigned long sum = 0;
    each = 10000L * (argc > 1 ? atoi(argv[1]) : 1);
    for (long i = 0; i < 4; i++)
        pthread_create(&threads[i], 0, i < 2 ? produce : consume, (void *)(i + 1));
    for (int i = 0; i < 4; i++) {
        void *result;
        pthread_join(threads[i], &result);
        sum += (unsigned long)result;
    }
    printf("%lu\n", sum);
    return 0;
}
