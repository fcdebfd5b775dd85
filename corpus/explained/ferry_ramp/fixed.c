/* ferry_ramp.c with lorries that look again. */
#include <assert.h>
#include <pthread.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int walkers, lorry;
static int planks[2];

static void *drive(void *arg)
{
    (void)arg;
    pthread_mutex_lock(&m);
    while (walkers > 0 || lorry)
        pthread_cond_wait(&changed, &m);
    lorry = 1;
    pthread_mutex_unlock(&m);

    planks[0]++;
    planks[1]++;

    pthread_mutex_lock(&m);
    lorry = 0;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&m);
    return NULL;
}

static void *walk(void *arg)
{
    (void)arg;
    pthread_mutex_lock(&m);
    while (lorry)
        pthread_cond_wait(&changed, &m);
    walkers++;
    pthread_mutex_unlock(&m);

    int first = planks[0];
    int second = planks[1];
    assert(first == second);

    pthread_mutex_lock(&m);
    walkers--;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&m);
    return NULL;
}

int main(void)
{
    pthread_t threads[3];

    pthread_create(&threads[0], NULL, drive, NULL);
    pthread_create(&threads[1], NULL, drive, NULL);
    pthread_create(&threads[2], NULL, walk, NULL);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
