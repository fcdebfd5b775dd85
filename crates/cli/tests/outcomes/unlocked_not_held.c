// kind: sync-misuse
#include <pthread.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
int main(void) {
    pthread_mutex_unlock(&lock); // HERE
    return 0;
}
