// kind: deadlock
// says: which it holds itself
#include <pthread.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void inner(void) {
    pthread_mutex_lock(&lock); // HERE
    pthread_mutex_unlock(&lock);
}
int main(void) {
    pthread_mutex_lock(&lock);
    inner();
    pthread_mutex_unlock(&lock);
    return 0;
}
