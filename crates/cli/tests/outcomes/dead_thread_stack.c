// kind: dead-stack
#include <pthread.h>
static int *volatile result;
static void *work(void *arg) {
    int local = 5;
    result = &local;
    return arg;
}
int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, work, NULL);
    pthread_join(thread, NULL);
    return *result; // HERE
}
