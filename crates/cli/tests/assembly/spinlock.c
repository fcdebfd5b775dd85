/* A spin lock of inline assembly protects a counter; -DUNLOCKED leaves it out. */
#include <assert.h>
#include <pthread.h>
#include <stdio.h>

static volatile int held;
static int counter;

static void lock(void) {
    int taken = 1;
#ifndef UNLOCKED
    for (;;) {
        __asm__ __volatile__("xchgl %0, %1" : "+r"(taken), "+m"(held) : : "memory");
        if (!taken)
            return;
        while (held)
            __asm__ __volatile__("pause");
    }
#endif
}

static void unlock(void) {
#ifndef UNLOCKED
    __asm__ __volatile__("movl $0, %0" : "=m"(held) : : "memory");
#endif
}

static void *work(void *unused) {
    for (int i = 0; i < 3; i++) {
        lock();
        int seen = counter;
        counter = seen + 1;
        unlock();
    }
    return unused;
}

int main(void) {
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, work, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    printf("%d\n", counter);
    assert(counter == 6);
    return 0;
}
