/* Lock-heavy: a key-value store with a read-write lock for each part of its table. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PARTS = 16, SLOTS = 1024 };
static struct { pthread_rwlock_t lock; char keys[SLOTS][16]; long values[SLOTS]; } parts[PARTS];
static long operations;

static unsigned hash(const char *key)
{
    unsigned h = 2166136261u;
    while (*key)
        h = (h ^ (unsigned char)*key++) * 16777619u;
    return h;
}

static long *slot(unsigned h, const char *key)
{
    for (unsigned i = 0; i < SLOTS; i++) {
        unsigned at = (h / PARTS + i) % SLOTS;
        char *own = parts[h % PARTS].keys[at];
        if (!own[0])
            return 0;
        if (strcmp(own, key) == 0)
            return &parts[h % PARTS].values[at];
    }
    return 0;
}

static void put(unsigned h, const char *key, long value)
{
    for (unsigned i = 0; i < SLOTS; i++) {
        unsigned at = (h / PARTS + i) % SLOTS;
        char *own = parts[h % PARTS].keys[at];
        if (!own[0])
            strcpy(own, key);
        if (strcmp(own, key) == 0) {
            parts[h % PARTS].values[at] = value;
            return;
        }
    }
}

static void *work(void *argument)
{
    unsigned seed = (unsigned)(long)argument;
    long found = 0;
    for (long i = 0; i < operations; i++) {
        char key[16] = "k";
        seed = seed * 1664525u + 1013904223u;
        unsigned number = (seed >> 10) % 4000;
        int length = 1;
        do
            key[length++] = (char)('0' + number % 10);
        while (number /= 10);
        key[length] = 0;
        unsigned h = hash(key);
        if (seed % 8 == 0) {
            pthread_rwlock_wrlock(&parts[h % PARTS].lock);
            put(h, key, i);
        } else {
            pthread_rwlock_rdlock(&parts[h % PARTS].lock);
            found += slot(h, key) != 0;
        }
        pthread_rwlock_unlock(&parts[h % PARTS].lock);
    }
    return (void *)found;
}

int main(int argc, char **argv)
{
    pthread_t threads[3];
    long sum = 0;
    operations = 10000L * (argc > 1 ? atoi(argv[1]) : 1);
    for (int i = 0; i < PARTS; i++)
        pthread_rwlock_init(&parts[i].lock, 0);
    for (long i = 0; i < 3; i++)
        pthread_create(&threads[i], 0, work, (void *)(i + 1));
    for (int i = 0; i < 3; i++) {
        void *result;
        pthread_join(threads[i], &result);
        sum += (long)result;
    }
    printf("%d\n", sum > 0);
    return 0;
}
