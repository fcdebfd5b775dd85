// The twin of rounds.c: the customer waits until there is a loaf.
#include <assert.h>
#include <pthread.h>

#define LOAVES 2

static pthread_mutex_t shop = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t baked = PTHREAD_COND_INITIALIZER;
static int on_shelf;

static void *baker(void *unused)
{
    for (int i = 0; i < LOAVES; i++) {
        pthread_mutex_lock(&shop);
        on_shelf++;
        pthread_cond_signal(&baked);
        pthread_mutex_unlock(&shop);
    }
    return unused;
}

static void *customer(void *unused)
{
    for (int i = 0; i < LOAVES; i++) {
        pthread_mutex_lock(&shop);
        while (on_shelf == 0)
            pthread_cond_wait(&baked, &shop);
        assert(on_shelf > 0);
        on_shelf--;
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
