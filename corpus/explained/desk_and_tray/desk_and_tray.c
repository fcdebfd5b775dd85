/* Written for this corpus, after the usual mistake with a bounded buffer of semaphores: the lock is taken first.
 *
 * The clerk takes the desk and waits for a letter with the desk in her hands; the postman needs the desk to put one into the tray,
 * and posts only after that. Nothing is wrong if the postman comes first each time.
 */
#include <pthread.h>
#include <semaphore.h>

#define LETTERS 2

static pthread_mutex_t desk = PTHREAD_MUTEX_INITIALIZER;
static sem_t letters;
static int tray;

static void *postman(void *arg)
{
    (void)arg;
    for (int i = 0; i < LETTERS; i++) {
        pthread_mutex_lock(&desk);
        tray++;
        sem_post(&letters);
        pthread_mutex_unlock(&desk);
    }
    return NULL;
}

static void *clerk(void *arg)
{
    (void)arg;
    for (int i = 0; i < LETTERS; i++) {
        pthread_mutex_lock(&desk);
        sem_wait(&letters);
        tray--;
        pthread_mutex_unlock(&desk);
    }
    return NULL;
}

int main(void)
{
    pthread_t threads[2];

    sem_init(&letters, 0, 0);
    pthread_create(&threads[0], NULL, clerk, NULL);
    pthread_create(&threads[1], NULL, postman, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    return tray;
}
