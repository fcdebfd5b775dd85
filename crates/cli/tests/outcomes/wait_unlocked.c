// kind: sync-misuse
// says: not locked by this thread
#include <pthread.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
int main(void) {
    pthread_cond_wait(&changed, &lock); // HERE
    return 0;
}
