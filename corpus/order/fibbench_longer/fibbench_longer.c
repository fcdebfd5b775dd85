/*
 * fibbench_longer, of ConcBugAssist's table 5.1 (45 lines, 3 threads, order violation;
 * 2 causes of 9 constraints). The original is a pthread program of SV-COMP 2015.
 * Two threads climb the Fibonacci numbers together: one adds j to i, the other
 * i to j, 6 times each. The program claims they never get as far as fib(14).
 * The bug: nothing orders the additions, and if every one of them sees the
 * result of the other thread's latest, 12 strictly alternating additions reach
 * exactly 377.
 * Fails only when the threads alternate perfectly from beginning to end, whichever
 * begins: a random schedule practically never does.
 */
#include <assert.h>
#include <pthread.h>
#include <stddef.h>

#define NUM 6
#define LIMIT 377

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
