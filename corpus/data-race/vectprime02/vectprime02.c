/*
 * vectprime02, of ConcBugAssist's table 5.1 (VectPrime02: 183 lines, 3 threads,
 * data race; 2 causes of 3 constraints). The original is a benchmark of Bloem et
 * al. on synthesising synchronisation.
 * Two threads each search one half of a vector for primes and append those they
 * find to a common result.
 * The bug: the append reads the number of results, stores the prime and stores
 * the number plus one, without a lock.
 * Fails when both threads read the same number before either has stored its new
 * one: a prime is overwritten or the count falls short.
 */
#include <assert.h>
#include <pthread.h>
#include <stddef.h>

#define SIZE 6
#define PRIMES 3

struct half {
    int from, to; /* [from, to) of the vector */
};

static const int vector[SIZE] = { 4, 7, 9, 11, 6, 13 };
static int primes[SIZE];
static int count; /* primes found */

static int is_prime(int n)
{
    for (int d = 2; d * d <= n; d++)
        if (n % d == 0)
            return 0;
    return n >= 2;
}

static void append(int n)
{
    int at = count;
    primes[at] = n;
    count = at + 1;
}

static void *search(void *arg)
{
    const struct half *h = arg;
    for (int k = h->from; k < h->to; k++)
        if (is_prime(vector[k]))
            append(vector[k]);
    return NULL;
}

int main(void)
{
    struct half low = { 0, SIZE / 2 }, high = { SIZE / 2, SIZE };
    pthread_t t1, t2;
    pthread_create(&t1, NULL, search, &low);
    pthread_create(&t2, NULL, search, &high);
    pthread_join(t1, NULL);
    pthread_join(t2, NULL);

    int sum = 0;
    for (int k = 0; k < SIZE; k++)
        sum += primes[k];
    assert(count == PRIMES && sum == 7 + 11 + 13);
    return 0;
}
