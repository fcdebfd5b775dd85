// kind: livelock
#include <pthread.h>
#include <stdatomic.h>
static atomic_int left, right;
static void *one(void *arg) {
    while (!atomic_load(&left)) { // HERE
    }
    atomic_store(&right, 1);
    return arg;
}
static void *other(void *arg) {
    while (!atomic_load(&right)) { // HERE
    }
    atomic_store(&left, 1);
    return arg;
}
int main(void) {
    pthread_t a, b;
    pthread_create(&a, NULL, one, NULL);
    pthread_create(&b, NULL, other, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return 0;
}
