/*
 * list_seq, repaired: the list has a lock, and an add is one critical section, so
 * either thread may go first.
 */
#include <assert.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

#define MAX_SIZE 4

typedef struct list {
    pthread_mutex_t lock;
    int arr[MAX_SIZE]; /* 0: free */
    size_t open;       /* first free place */
} list_t;

static list_t gl = { .lock = PTHREAD_MUTEX_INITIALIZER };

static void list_add(list_t *s, int i)
{
    pthread_mutex_lock(&s->lock);
    s->arr[s->open] = i;
    s->open += 1;
    pthread_mutex_unlock(&s->lock);
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
