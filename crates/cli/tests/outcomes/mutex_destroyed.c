// kind: sync-misuse
// says: use of a destroyed mutex: 'lock'
#include <pthread.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
int main(void) {
    pthread_mutex_destroy(&lock);
    pthread_mutex_lock(&lock); // HERE
    return 0;
}
