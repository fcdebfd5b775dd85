/* A lock that spins on nothing but the locked instruction, by an address in a register; a counter that only
   assembly touches; and a flag that assembly sets and C reads. */
#include <assert.h>
#include <pthread.h>
#include <stdio.h>

static struct { int before, lock, after; } all;
static int owners;
static long hits;
static int ready;

static void lock(int *at) {
    int taken;
    do {
        taken = 1;
        __asm__ __volatile__("xchgl %0, (%1)" : "+r"(taken) : "r"(at) : "memory");
    } while (taken);
}

static void unlock(int *at) {
    __asm__ __volatile__("movl $0, (%0)" : : "r"(at) : "memory");
}

static void hit(void) {
    __asm__ __volatile__("lock; incq %0" : "+m"(hits) : : "cc");
}

static void *work(void *unused) {
    while (!ready)
        ;
    for (int i = 0; i < 2; i++) {
        lock(&all.lock);
        owners++;
        assert(owners == 1);
        owners--;
        unlock(&all.lock);
        hit();
    }
    return unused;
}

int main(void) {
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, work, NULL);
    __asm__ __volatile__("movl $1, %0" : "=m"(ready) : : "memory");
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    printf("%ld %d\n", hits, all.lock);
    assert(hits == 4);
    return 0;
}
