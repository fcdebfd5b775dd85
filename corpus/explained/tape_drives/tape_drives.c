/* Written for this corpus, after the classic of resource allocation: jobs take the units of a pool one after another.
 *
 * Each of three jobs needs two of three drives and takes them one by one. Where all of them have taken the first before any has
 * taken the second, the pool is empty and nobody gives anything back: deadlock, although no mutex is there.
 */
#include <pthread.h>
#include <semaphore.h>

#define JOBS 3

static sem_t drives;
static int copied[JOBS];

static void *copy(void *arg)
{
    int job = (int)(long)arg;
    sem_wait(&drives); /* from */
    sem_wait(&drives); /* to */
    copied[job] = 1;
    sem_post(&drives);
    sem_post(&drives);
    return NULL;
}

int main(void)
{
    pthread_t threads[JOBS];

    sem_init(&drives, 0, JOBS);
    for (long i = 0; i < JOBS; i++)
        pthread_create(&threads[i], NULL, copy, (void *)i);
    for (int i = 0; i < JOBS; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
