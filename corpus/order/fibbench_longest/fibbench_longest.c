/*
 * fibbench_longest: fibbench with 11 additions each, as in the longest of the pthread
 * programs of SV-COMP that it is of.
 * Two threads climb the Fibonacci numbers together: one adds j to i, the other
 * i to j, 11 times each. The program claims they never get as far as fib(24).
 * The bug: nothing orders the additions, and if every one of them sees the
 * result of the other thread's latest, 22 strictly alternating additions reach
 * exactly 46368.
 * Fails only when the threads alternate perfectly from beginning to end: one
 * schedule in many millions, and a perfectly regular one.
 */
#include <assert.h>
#include <pthread.h>
#include <stddef.h>

#define NUM 11
#define LIMIT 46368

static int i = 1, j = 1;

static void *t1(void *arg)
{
    (void)arg;
    for (int k = 0; k < NUM; k++)
        i += j;
    return NULL;
}

static void *t2(void *arg)
{
    (void)arg;
    for (int k = 0; k < NUM; k++)
        j += i;
    return NULL;
}

int main(void)
{
    pthread_t id1, id2;
    pthread_create(&id1, NULL, t1, NULL);
    pthread_create(&id2, NULL, t2, NULL);
    pthread_join(id1, NULL);
    pthread_join(id2, NULL);
    assert(i < LIMIT && j < LIMIT);
    return 0;
}
