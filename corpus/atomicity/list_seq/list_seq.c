/*
 * list_seq, of ConcBugAssist's table 5.1 (122 lines, 3 threads, atomicity
 * violation; 18 causes, 4 unique constraints) and its figure 5.1. The original is
 * a sequential array list, after Herlihy and Shavit's book, used by two threads.
 * Each thread adds one item; afterwards the list must contain both.
 * The bug: list_add stores the item at arr[open] and moves open on in another
 * step, so the two adds can use the same place.
 * Fails when one thread stores its item before the other has moved open, having
 * read the same value: the later store overwrites the earlier one.
 */
#include <assert.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

#define MAX_SIZE 4

typedef struct list {
    int arr[MAX_SIZE]; /* 0: free */
    size_t open;       /* first free place */
} list_t;

static list_t gl;

static void list_add(list_t *s, int i)
{
    s->arr[s->open] = i;
    s->open += 1;
}

static bool list_contains(const list_t *s, int i)
{
    int found = 0;
    for (size_t k = 0; k < MAX_SIZE; k++)
        found += s->arr[k] == i;
    return found != 0;
}

static void *t1_main(void *arg)
{
    (void)arg;
    int val = 1;
    list_add(&gl, val);
    return NULL;
}

static void *t2_main(void *arg)
{
    (void)arg;
    int val = 2;
    list_add(&gl, val);
    return NULL;
}

int main(void)
{
    pthread_t t1, t2;
    pthread_create(&t1, NULL, t1_main, NULL);
    pthread_create(&t2, NULL, t2_main, NULL);
    pthread_join(t1, NULL);
    pthread_join(t2, NULL);
    assert(list_contains(&gl, 1) && list_contains(&gl, 2));
    return 0;
}
