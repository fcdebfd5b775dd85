// A baker puts a loaf on the shelf in each round, a customer takes one in each of his own. The shop is open from the first loaf on and
// never closes: whoever finds it open believes that there is a loaf.
#include <assert.h>
#include <pthread.h>
#include <stdbool.h>

#define LOAVES 2

static pthread_mutex_t shop = PTHREAD_MUTEX_INITIALIZER;
static bool is_open;
static int on_shelf;

static void *baker(void *unused)
{
    for (int i = 0; i < LOAVES; i++) {
        pthread_mutex_lock(&shop);
        on_shelf++;
        is_open = true;
        pthread_mutex_unlock(&shop);
    }
    return unused;
}

static void *customer(void *unused)
{
    for (int i = 0; i < LOAVES; i++) {
        pthread_mutex_lock(&shop);
        if (is_open) {
            assert(on_shelf > 0);
            on_shelf--;
        }
        pthread_mutex_unlock(&shop);
    }
    return unused;
}

int main(void)
{
    pthread_t first, second;
    pthread_create(&first, NULL, baker, NULL);
    pthread_create(&second, NULL, customer, NULL);
    pthread_join(first, NULL);
    pthread_join(second, NULL);
    return 0;
}
