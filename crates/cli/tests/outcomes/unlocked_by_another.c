// kind: sync-misuse
// says: 'lock'
#include <pthread.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void *open_it(void *arg) {
    pthread_mutex_unlock(&lock); // HERE
    return arg;
}
int main(void) {
    pthread_t thread;
    pthread_mutex_lock(&lock);
    pthread_create(&thread, NULL, open_it, NULL);
    pthread_join(thread, NULL);
    return 0;
}
