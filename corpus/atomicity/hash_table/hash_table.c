/*
 * hash_table, of ConcBugAssist's table 5.1 (156 lines, 3 threads, atomicity
 * violation; 44 causes of 1.4 constraints). The original is the closed-address
 * hash set of Herlihy and Shavit's book, with its locks taken out.
 * add() looks for the item in its bucket, puts it behind the last one and counts
 * it, in the bucket and in the set. Two threads add items of the same bucket.
 * The bug: an add is made of many reads and writes and nothing makes it atomic.
 * Fails when both threads read the bucket's count before either has stored a new
 * one (an item is overwritten or hidden), or one of the counts is lost.
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
    struct bucket table[CAPACITY];
    int set_size;
};

static struct hash_set set;

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
    if (bucket_contains(b, x))
        return false;
    b->items[b->count] = x;
    b->count = b->count + 1;
    s->set_size = s->set_size + 1;
    return true;
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
