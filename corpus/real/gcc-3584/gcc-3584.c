/*
 * gcc-3584, of ConcBugAssist's table 5.1 (104 lines, 3 threads, data race; 4
 * causes of 3 constraints). The original is GCC bug 3584: libstdc++'s atomic
 * addition for ARM was made of the swap instruction and is not atomic.
 * __atomic_add loads the word, adds, and swaps the sum in; if the swap brings back
 * another value than was loaded, someone came between, so it swaps that value in
 * again and starts anew.
 * The bug: what another thread adds between the first swap and the one that undoes
 * it is lost. One thread adds 1, the other 1 and then 2.
 * Fails when a thread adds between the other's load and swap, and again between
 * that swap and its undoing. (The tries are bounded so that all runs end.)
 */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

#define TRIES 8

typedef atomic_int _Atomic_word;

static _Atomic_word word;

static void atomic_add(_Atomic_word *mem, int val)
{
    for (int k = 0; k < TRIES; k++) {
        int loaded = atomic_load(mem);
        int swapped = atomic_exchange(mem, loaded + val);
        if (swapped == loaded)
            return;
        atomic_exchange(mem, swapped);
    }
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
