/* Written for this corpus, after data that readers announce themselves for, and that is replaced when nobody does.
 *
 * Two walkers look at a map sheet; a surveyor draws a new one, hangs it up, waits until nobody reads and throws the old one away.
 *
 * Bug: a walker takes the sheet first and says only then that somebody reads. Fails when the surveyor hangs up the new sheet in
 * between, sees no reader and throws the sheet away that the walker has in hand.
 */
#include <assert.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>

enum { WALKERS = 2 };

struct sheet {
    int paths;
    int huts;
};

static _Atomic(struct sheet *) wall;
static atomic_int readers;

static struct sheet *draw(int paths, int huts)
{
    struct sheet *sheet = malloc(sizeof *sheet);

    assert(sheet);
    sheet->paths = paths;
    sheet->huts = huts;
    return sheet;
}

static void *walker(void *arg)
{
    struct sheet *sheet = atomic_load(&wall);
    int places;

    atomic_fetch_add(&readers, 1);
    places = sheet->paths + sheet->huts;
    atomic_fetch_sub(&readers, 1);
    assert(places == 9 || places == 14);
    return arg;
}

static void *surveyor(void *arg)
{
    struct sheet *old = atomic_exchange(&wall, draw(10, 4));

    while (atomic_load(&readers) > 0)
        sched_yield();
    free(old);
    return arg;
}

int main(void)
{
    pthread_t walkers[WALKERS], other;

    atomic_store(&wall, draw(7, 2));
    for (int i = 0; i < WALKERS; i++)
        pthread_create(&walkers[i], NULL, walker, NULL);
    pthread_create(&other, NULL, surveyor, NULL);
    for (int i = 0; i < WALKERS; i++)
        pthread_join(walkers[i], NULL);
    pthread_join(other, NULL);
    free(atomic_load(&wall));
    return 0;
}
