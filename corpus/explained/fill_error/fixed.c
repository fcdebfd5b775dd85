/* fill_error.c with room for both results, and consumers that look again. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t filled = PTHREAD_COND_INITIALIZER;
static int items;

static void *consumer(void *arg)
{
    (void)arg;
    pthread_mutex_lock(&m);
    while (items == 0)
        pthread_cond_wait(&filled, &m);
    if (items == 0) {
        fputs("nothing to take\n", stderr);
        exit(1);
    }
    items--;
    pthread_mutex_unlock(&m);
    return NULL;
}

int main(void)
{
    pthread_t threads[2];
    void **results = calloc(2, sizeof *results);

    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, consumer, NULL);
    for (int i = 0; i < 2; i++) {
        pthread_mutex_lock(&m);
        items++;
        pthread_cond_broadcast(&filled);
        pthread_mutex_unlock(&m);
    }
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], &results[i]);
    free(results);
    return 0;
}
