// kind: sync-misuse
// says: condition variable that a thread waits on
#include <pthread.h>
#include <unistd.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int waiting;
static void *work(void *arg) {
    pthread_mutex_lock(&lock);
    waiting = 1;
    pthread_cond_wait(&changed, &lock);
    pthread_mutex_unlock(&lock);
    return arg;
}
int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, work, NULL);
    for (;;) {
        pthread_mutex_lock(&lock);
        int seen = waiting;
        pthread_mutex_unlock(&lock);
        if (seen) break;
        usleep(10);
    }
    pthread_cond_destroy(&changed); // HERE
    pthread_join(thread, NULL);
    return 0;
}
