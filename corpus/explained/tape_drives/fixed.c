/* tape_drives.c, where a job takes both drives or waits before it has any. */
#include <pthread.h>
#include <semaphore.h>

#define JOBS 3

static sem_t drives;
static pthread_mutex_t taking = PTHREAD_MUTEX_INITIALIZER;
static int copied[JOBS];

static void *copy(void *arg)
{
    int job = (int)(long)arg;
    pthread_mutex_lock(&taking); /* both or none */
    sem_wait(&drives);
    sem_wait(&drives);
    pthread_mutex_unlock(&taking);
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
