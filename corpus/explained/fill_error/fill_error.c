/* Written for this corpus, after the exercise of a bounded buffer that looks after itself and gives up where it finds it misused.
 *
 * The bug is none of concurrency: main has results for two consumers in an array of one. The consumers check with `if` whether
 * there is something to take; where both find the one item, the second gives up with exit(1), and main never comes to its own
 * bug. Those runs pass nothing: an order of the consumers must not be told as what keeps main from failing.
 */
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
    if (items == 0)
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
    void **results = calloc(1, sizeof *results);

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
