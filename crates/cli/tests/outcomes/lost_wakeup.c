// kind: deadlock
// says: for a signal that does not come
// command: find
#include <pthread.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t ready = PTHREAD_COND_INITIALIZER;
static void *wake(void *arg) {
    pthread_mutex_lock(&lock);
    pthread_cond_signal(&ready);
    pthread_mutex_unlock(&lock);
    return arg;
}
int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, wake, NULL);
    pthread_mutex_lock(&lock);
    pthread_cond_wait(&ready, &lock); // HERE
    pthread_mutex_unlock(&lock);
    pthread_join(thread, NULL);
    return 0;
}
