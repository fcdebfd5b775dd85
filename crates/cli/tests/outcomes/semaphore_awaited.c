// kind: sync-misuse
// says: semaphore that a thread waits for
#include <pthread.h>
#include <semaphore.h>
#include <unistd.h>
static sem_t ready;
static void *work(void *arg) {
    sem_wait(&ready);
    return arg;
}
int main(void) {
    pthread_t thread;
    sem_init(&ready, 0, 0);
    pthread_create(&thread, NULL, work, NULL);
    usleep(10);
    sem_destroy(&ready); // HERE
    pthread_join(thread, NULL);
    return 0;
}
