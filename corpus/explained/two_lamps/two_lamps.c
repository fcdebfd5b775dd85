/* Written for this corpus, after the first wrong attempt at mutual exclusion: each side lights its lamp and waits for the other's to
 * be dark.
 *
 * Where both lamps are lit before either has looked at the other, both wait for ever. Joining one before the other begins would
 * help, too, but nobody meant them to come one after another.
 */
#include <pthread.h>
#include <stdatomic.h>

static atomic_int east, west;
static int crossed;

static void *from_east(void *arg)
{
    (void)arg;
    atomic_store(&east, 1);
    while (atomic_load(&west))
        ;
    crossed++;
    atomic_store(&east, 0);
    return NULL;
}

int main(void)
{
    pthread_t thread;

    pthread_create(&thread, NULL, from_east, NULL);
    atomic_store(&west, 1);
    while (atomic_load(&east))
        ;
    crossed++;
    atomic_store(&west, 0);
    pthread_join(thread, NULL);
    return crossed == 2 ? 0 : 1;
}
