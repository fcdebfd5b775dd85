/* Written for this corpus, after two locks that are tried in turn so that nobody waits with one in hand.
 *
 * Two clerks need the stamp and the ledger.
 *
 * Fixed: both take the stamp first.
 */
#include <pthread.h>

static pthread_mutex_t stamp = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t ledger = PTHREAD_MUTEX_INITIALIZER;
static int entries;

static void work(void)
{
    pthread_mutex_lock(&stamp);
    pthread_mutex_lock(&ledger);
    entries++;
    pthread_mutex_unlock(&ledger);
    pthread_mutex_unlock(&stamp);
}

static void *first(void *arg)
{
    (void)arg;
    work();
    return NULL;
}

static void *second(void *arg)
{
    (void)arg;
    work();
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
