/* Written for this corpus, after tables that are filled by whoever comes first.
 *
 * Guests of a canteen look up prices. The first of them fills the list, with a mutex held; `ready` tells the others that they need
 * not. Main lets guests in one by one, while others are at the list already.
 *
 * Fixed: `ready` is set when the list is filled.
 */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

enum { GUESTS = 3 };

static pthread_mutex_t kitchen = PTHREAD_MUTEX_INITIALIZER;
static atomic_int ready;
static int price[GUESTS];

static void fill(void)
{
    if (atomic_load(&ready))
        return;
    pthread_mutex_lock(&kitchen);
    if (!atomic_load(&ready)) {
        for (int i = 0; i < GUESTS; i++)
            price[i] = 3 + i;
        atomic_store(&ready, 1);
    }
    pthread_mutex_unlock(&kitchen);
}

static void *guest(void *arg)
{
    int wish = *(int *)arg;

    fill();
    assert(price[wish] == 3 + wish);
    return NULL;
}

int main(void)
{
    pthread_t guests[GUESTS];
    int wishes[GUESTS];

    for (int i = 0; i < GUESTS; i++) {
        wishes[i] = i;
        pthread_create(&guests[i], NULL, guest, &wishes[i]);
    }
    for (int i = 0; i < GUESTS; i++)
        pthread_join(guests[i], NULL);
    return 0;
}
