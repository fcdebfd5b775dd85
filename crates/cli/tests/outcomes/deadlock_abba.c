// kind: deadlock
// says: held by T0.2
// command: find
#include <pthread.h>
static pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER, b = PTHREAD_MUTEX_INITIALIZER;
static int shared;
static void *forward(void *arg) {
    pthread_mutex_lock(&a);
    pthread_mutex_lock(&b); // HERE
    shared++;
    pthread_mutex_unlock(&b);
    pthread_mutex_unlock(&a);
    return arg;
}
static void *backward(void *arg) {
    pthread_mutex_lock(&b);
    pthread_mutex_lock(&a); // HERE
    shared--;
    pthread_mutex_unlock(&a);
    pthread_mutex_unlock(&b);
    return arg;
}
int main(void) {
    pthread_t one, two;
    pthread_create(&one, NULL, forward, NULL);
    pthread_create(&two, NULL, backward, NULL);
    pthread_join(one, NULL); // HERE
    pthread_join(two, NULL);
    return shared;
}
