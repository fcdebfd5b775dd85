/*
 * hash_table, repaired: as in the book's coarse-grained set, one lock makes an add
 * atomic.
 */
#include <assert.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

#define CAPACITY 2 /* buckets */
#define BUCKET 3   /* items a bucket can hold */

struct bucket {
    int items[BUCKET]; /* 0: free */
    int count;
};

struct hash_set {
    pthread_mutex_t lock;
    struct bucket table[CAPACITY];
    int set_size;
};

static struct hash_set set = { .lock = PTHREAD_MUTEX_INITIALIZER };

static bool bucket_contains(const struct bucket *b, int x)
{
    int found = 0;
    for (int k = 0; k < BUCKET; k++)
        found += b->items[k] == x;
    return found != 0;
}

static bool hash_set_contains(const struct hash_set *s, int x)
{
    return bucket_contains(&s->table[x % CAPACITY], x);
}

static bool hash_set_add(struct hash_set *s, int x)
{
    struct bucket *b = &s->table[x % CAPACITY];
    pthread_mutex_lock(&s->lock);
    bool missing = !bucket_contains(b, x);
    if (missing) {
        b->items[b->count] = x;
        b->count = b->count + 1;
        s->set_size = s->set_size + 1;
    }
    pthread_mutex_unlock(&s->lock);
    return missing;
}

static void *adder(void *arg)
{
    const int *x = arg;
    hash_set_add(&set, *x);
    return NULL;
}

int main(void)
{
    int two = 2, four = 4;
    pthread_t t1, t2;
    pthread_create(&t1, NULL, adder, &two);
    pthread_create(&t2, NULL, adder, &four);
    pthread_join(t1, NULL);
    pthread_join(t2, NULL);
    assert(hash_set_contains(&set, 2) && hash_set_contains(&set, 4) && set.set_size == 2);
    return 0;
}
