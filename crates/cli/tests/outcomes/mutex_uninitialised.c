// kind: sync-misuse
// says: uninitialised mutex
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
int main(void) {
    pthread_mutex_t *lock = malloc(sizeof *lock);
    memset(lock, 0x5a, sizeof *lock);
    pthread_mutex_lock(lock); // HERE
    return 0;
}
