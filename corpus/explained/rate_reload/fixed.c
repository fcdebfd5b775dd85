/* Written for this corpus, after caches that look under a lock for reading and reload under one for writing.
 *
 * Three counters of an exchange office look up today's rate. Whoever finds that it is from yesterday gives back the lock for
 * reading, takes the one for writing and fetches it; fetching costs money.
 *
 * Fixed: with the lock for writing the date is looked at again.
 */
#include <assert.h>
#include <pthread.h>

enum { COUNTERS = 3, TODAY = 5 };

static pthread_rwlock_t board = PTHREAD_RWLOCK_INITIALIZER;
static int day = 4;
static int rate = 108;
static int fetched;

static void fetch(void)
{
    rate = 111;
    fetched++;
    day = TODAY;
}

static int look_up(void)
{
    int seen;

    pthread_rwlock_rdlock(&board);
    if (day != TODAY) {
        pthread_rwlock_unlock(&board);
        pthread_rwlock_wrlock(&board);
        if (day != TODAY)
            fetch();
    }
    seen = rate;
    pthread_rwlock_unlock(&board);
    return seen;
}

static void *counter(void *arg)
{
    int got = look_up();

    (void)arg;
    assert(got == 111);
    return NULL;
}

int main(void)
{
    pthread_t counters[COUNTERS];

    for (int i = 0; i < COUNTERS; i++)
        pthread_create(&counters[i], NULL, counter, NULL);
    for (int i = 0; i < COUNTERS; i++)
        pthread_join(counters[i], NULL);
    assert(fetched == 1);
    return 0;
}
