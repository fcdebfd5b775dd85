// kind: use-after-free
// says: freed here by T0.1
#include <pthread.h>
#include <stdlib.h>
static int *shared;
static void *drop(void *arg) {
    free(shared);
    return arg;
}
int main(void) {
    pthread_t thread;
    shared = calloc(4, sizeof *shared);
    pthread_create(&thread, NULL, drop, NULL);
    pthread_join(thread, NULL);
    return shared[2]; // HERE
}
