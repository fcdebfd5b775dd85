/*
 * gcc-3584, repaired: the addition is one atomic operation.
 */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

typedef atomic_int _Atomic_word;

static _Atomic_word word;

static void atomic_add(_Atomic_word *mem, int val)
{
    atomic_fetch_add(mem, val);
}

static void *t1(void *arg)
{
    (void)arg;
    atomic_add(&word, 1);
    return NULL;
}

static void *t2(void *arg)
{
    (void)arg;
    atomic_add(&word, 1);
    atomic_add(&word, 2);
    return NULL;
}

int main(void)
{
    pthread_t a, b;
    pthread_create(&a, NULL, t1, NULL);
    pthread_create(&b, NULL, t2, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    assert(atomic_load(&word) == 1 + 1 + 2);
    return 0;
}
