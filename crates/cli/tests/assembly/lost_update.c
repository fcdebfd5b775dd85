/* Assembly reads in one step and writes in another: an update gets lost between them. */
#include <assert.h>
#include <pthread.h>

static int counter;

static void *work(void *unused) {
    int value;
    __asm__ __volatile__("movl %1, %0" : "=r"(value) : "m"(counter));
    value++;
    __asm__ __volatile__("movl %1, %0" : "=m"(counter) : "r"(value));
    return unused;
}

int main(void) {
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, work, 0);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], 0);
    assert(counter == 2);
    return 0;
}
