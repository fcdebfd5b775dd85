/* Written for this corpus, after two locks that are tried in turn so that nobody waits with one in hand.
 *
 * Two clerks need the stamp and the ledger. Each takes one, tries the other, and puts the first back if it does not get it, so
 * that they do not wait for each other.
 *
 * Bug: they begin with different ones and go in step: each takes its own, sees that the other is taken, puts its own back and
 * begins again, for ever.
 */
#include <pthread.h>

static pthread_mutex_t stamp = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t ledger = PTHREAD_MUTEX_INITIALIZER;
static int entries;

static void work(pthread_mutex_t *own, pthread_mutex_t *other)
{
    for (;;) {
        pthread_mutex_lock(own);
        if (pthread_mutex_trylock(other) == 0)
            break;
        pthread_mutex_unlock(own);
    }
    entries++;
    pthread_mutex_unlock(other);
    pthread_mutex_unlock(own);
}

static void *first(void *arg)
{
    (void)arg;
    work(&stamp, &ledger);
    return NULL;
}

static void *second(void *arg)
{
    (void)arg;
    work(&ledger, &stamp);
    return NULL;
}

int main(void)
{
    pthread_t clerks[2];

    pthread_create(&clerks[0], NULL, first, NULL);
    pthread_create(&clerks[1], NULL, second, NULL);
    pthread_join(clerks[0], NULL);
    pthread_join(clerks[1], NULL);
    return entries == 2 ? 0 : 1;
}
