// Condition variables, semaphores (named ones too), barriers, once: counts and return codes.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t ready = PTHREAD_COND_INITIALIZER, space = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t barrier;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static sem_t items, slots, gate;
static int queue[4], head, tail, count, produced, consumed, initialised, serial, rounds[3], awake, turn;
static long sum;

static struct timespec soon(int clock, long ms) { struct timespec t; clock_gettime(clock, &t); t.tv_nsec += ms * 1000000; t.tv_sec += t.tv_nsec / 1000000000; t.tv_nsec %= 1000000000; return t; }
static const char *name(int code) { return code == 0 ? "ok" : code == ETIMEDOUT ? "ETIMEDOUT" : code == EINVAL ? "EINVAL" : code == EBUSY ? "EBUSY" : code == EAGAIN ? "EAGAIN" : code == -1 ? strerror(errno) : "other"; }
#define SHOW(call) printf("%-50s %s\n", #call, name(call))

static void *producer(void *arg) {
    for (int i = 1; i <= 20; i++) {
        pthread_mutex_lock(&lock);
        while (count == 4) pthread_cond_wait(&space, &lock);
        queue[tail] = i * (int)(long)arg; tail = (tail + 1) % 4; count++; produced++;
        pthread_cond_signal(&ready);
        pthread_mutex_unlock(&lock);
    }
    return NULL;
}
static void *consumer(void *arg) {
    for (int i = 0; i < 20; i++) {
        pthread_mutex_lock(&lock);
        while (count == 0) pthread_cond_wait(&ready, &lock);
        sum += queue[head]; head = (head + 1) % 4; count--; consumed++;
        pthread_cond_signal(&space);
        pthread_mutex_unlock(&lock);
    }
    return arg;
}
static void *sleeper(void *arg) { pthread_mutex_lock(&lock); while (!turn) pthread_cond_wait(&ready, &lock); awake++; pthread_mutex_unlock(&lock); return arg; }
static void *sem_producer(void *arg) { for (int i = 0; i < 15; i++) { sem_wait(&slots); pthread_mutex_lock(&lock); queue[count++] = i; pthread_mutex_unlock(&lock); sem_post(&items); } return arg; }
static void *sem_consumer(void *arg) { for (int i = 0; i < 15; i++) { sem_wait(&items); pthread_mutex_lock(&lock); sum += queue[--count]; pthread_mutex_unlock(&lock); sem_post(&slots); } return arg; }
static void initialise(void) { initialised++; }
static void *worker(void *arg) {
    for (int r = 0; r < 3; r++) {
        pthread_once(&once, initialise);
        __atomic_fetch_add(&rounds[r], 1, __ATOMIC_SEQ_CST);
        int code = pthread_barrier_wait(&barrier);
        if (code == PTHREAD_BARRIER_SERIAL_THREAD) __atomic_fetch_add(&serial, 1, __ATOMIC_SEQ_CST); else if (code) printf("bad\n");
        if (__atomic_load_n(&rounds[r], __ATOMIC_SEQ_CST) != 4) printf("early\n");
        pthread_barrier_wait(&barrier);
    }
    return arg;
}
static void *waiter(void *arg) { sem_wait(&gate); awake++; sem_post(&gate); return arg; }
static void run(void *(*f)(void *), void *(*g)(void *), int each) {
    pthread_t t[8];
    for (int i = 0; i < 2 * each; i++) pthread_create(&t[i], NULL, i < each ? f : g, (void *)(long)(i + 1));
    for (int i = 0; i < 2 * each; i++) pthread_join(t[i], NULL);
}

int main(void) {
    run(producer, consumer, 2); printf("%d %d %ld %d\n", produced, consumed, sum, count);
    pthread_t t[5]; for (int i = 0; i < 5; i++) pthread_create(&t[i], NULL, sleeper, NULL);
    usleep(1000); pthread_mutex_lock(&lock); turn = 1; pthread_cond_broadcast(&ready); pthread_mutex_unlock(&lock);
    for (int i = 0; i < 5; i++) pthread_join(t[i], NULL); printf("%d\n", awake);
    pthread_mutex_lock(&lock); struct timespec when = soon(CLOCK_REALTIME, 5); SHOW(pthread_cond_timedwait(&ready, &lock, &when)); SHOW(pthread_cond_timedwait(&ready, &lock, &(struct timespec){ 1, 0 }));
    pthread_condattr_t attr; pthread_cond_t mono; SHOW(pthread_condattr_init(&attr)); SHOW(pthread_condattr_setclock(&attr, CLOCK_MONOTONIC)); SHOW(pthread_cond_init(&mono, &attr)); pthread_condattr_destroy(&attr);
    when = soon(CLOCK_MONOTONIC, 5); SHOW(pthread_cond_timedwait(&mono, &lock, &when)); when = soon(CLOCK_MONOTONIC, 5); SHOW(pthread_cond_clockwait(&mono, &lock, CLOCK_MONOTONIC, &when)); SHOW(pthread_cond_signal(&mono)); SHOW(pthread_cond_broadcast(&mono)); SHOW(pthread_cond_destroy(&mono)); pthread_mutex_unlock(&lock);

    int value; sum = count = 0; SHOW(sem_init(&items, 0, 0)); SHOW(sem_init(&slots, 0, 4)); run(sem_producer, sem_consumer, 2); sem_getvalue(&items, &value); printf("%ld %d ", sum, value); sem_getvalue(&slots, &value); printf("%d\n", value);
    SHOW(sem_trywait(&items)); SHOW(sem_post(&items)); SHOW(sem_trywait(&items)); when = soon(CLOCK_REALTIME, 5); SHOW(sem_timedwait(&items, &when)); sem_post(&items); SHOW(sem_timedwait(&items, &when)); SHOW(sem_destroy(&items)); SHOW(sem_destroy(&slots));
    sem_init(&gate, 0, 0); awake = 0; for (int i = 0; i < 3; i++) pthread_create(&t[i], NULL, waiter, NULL); usleep(100); sem_post(&gate); for (int i = 0; i < 3; i++) pthread_join(t[i], NULL); sem_getvalue(&gate, &value); printf("%d %d\n", awake, value);
    SHOW(pthread_barrier_init(&barrier, NULL, 0)); SHOW(pthread_barrier_init(&barrier, NULL, 4)); run(worker, worker, 2); printf("%d %d %d\n", serial, initialised, rounds[2]); SHOW(pthread_barrier_destroy(&barrier));
    pthread_barrier_init(&barrier, NULL, 1); printf("%d\n", pthread_barrier_wait(&barrier) == PTHREAD_BARRIER_SERIAL_THREAD);
    char path[64]; snprintf(path, sizeof path, "/unravel-test-%d", (int)getpid()); sem_unlink(path);
    sem_t *named = sem_open(path, O_CREAT, 0600, 2); if (named == SEM_FAILED) { printf("no named semaphores\n"); return 1; }
    sem_t *same = sem_open(path, 0); sem_getvalue(same, &value); printf("%d %d\n", value, sem_open(path, O_CREAT | O_EXCL, 0600, 1) == SEM_FAILED && errno == EEXIST); sem_wait(named); sem_getvalue(same, &value); printf("%d\n", value);
    SHOW(sem_close(named)); SHOW(sem_close(same)); SHOW(sem_unlink(path)); SHOW(sem_unlink(path)); printf("%d\n", sem_open(path, 0) == SEM_FAILED);
    return 0;
}
