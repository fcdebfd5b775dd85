// Robust mutexes, whose owner dies: each kind, waited for in each way. Ceilings, priorities, and times that are none.
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t m;
static pthread_cond_t c;
static sem_t locked, go;
static int ready;

static void *dies(void *arg) { pthread_mutex_lock(&m); if (arg) pthread_mutex_lock(&m); return NULL; }
static void *dies_late(void *arg) { pthread_mutex_lock(&m); sem_post(&locked); sem_wait(&go); return arg; }
static void *waits(void *arg) { (void)arg; return (void *)(long)pthread_mutex_lock(&m); }
static void *dies_signalling(void *arg) { pthread_mutex_lock(&m); ready = 1; pthread_cond_signal(&c); return arg; }
static void *cancelled(void *arg) { pthread_mutex_lock(&m); sem_post(&locked); sem_wait(&go); pthread_mutex_unlock(&m); return arg; }
static void setup(int kind, int robust) {
    pthread_mutexattr_t a; pthread_mutexattr_init(&a); pthread_mutexattr_settype(&a, kind);
    if (robust) pthread_mutexattr_setrobust(&a, PTHREAD_MUTEX_ROBUST);
    pthread_mutex_init(&m, &a); pthread_mutexattr_destroy(&a);
}
static void *other(void *arg) { (void)arg; int a = pthread_mutex_trylock(&m), b = pthread_mutex_unlock(&m); return (void *)(long)(a * 1000 + b); }
static long in_thread(void *(*f)(void *), void *arg) { pthread_t t; void *r; pthread_create(&t, NULL, f, arg); pthread_join(t, &r); return (long)r; }

int main(void) {
    int kinds[] = {PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_RECURSIVE, PTHREAD_MUTEX_ERRORCHECK};
    pthread_t t, u; void *r; struct timespec now, bad;
    sem_init(&locked, 0, 0); sem_init(&go, 0, 0); pthread_cond_init(&c, NULL);
    for (int k = 0; k < 3; k++) {
        setup(kinds[k], 1);
        in_thread(dies, kinds[k] == PTHREAD_MUTEX_RECURSIVE ? &m : NULL);
        printf("%d ", pthread_mutex_lock(&m)); printf("%d ", pthread_mutex_consistent(&m)); printf("%d ", pthread_mutex_consistent(&m));
        printf("%d %d %d\n", pthread_mutex_unlock(&m), pthread_mutex_lock(&m), pthread_mutex_unlock(&m));
        in_thread(dies, NULL);
        printf("%d ", pthread_mutex_trylock(&m)); printf("%d ", pthread_mutex_unlock(&m)); printf("%d ", pthread_mutex_lock(&m));
        clock_gettime(CLOCK_REALTIME, &now); now.tv_sec++; printf("%d ", pthread_mutex_timedlock(&m, &now)); printf("%d\n", pthread_mutex_trylock(&m));
    }
    setup(PTHREAD_MUTEX_NORMAL, 1);
    pthread_create(&t, NULL, dies_late, NULL); sem_wait(&locked); pthread_create(&u, NULL, waits, NULL); sem_post(&go);
    pthread_join(t, NULL); pthread_join(u, &r); printf("waited: %ld\n", (long)r);
    printf("again: %d %d\n", pthread_mutex_lock(&m), pthread_mutex_consistent(&m)); ready = 0;
    pthread_create(&t, NULL, dies_signalling, NULL); int got = 0; while (!ready) got = pthread_cond_wait(&c, &m);
    printf("signalled: %d\n", got); pthread_join(t, NULL); pthread_mutex_consistent(&m); pthread_mutex_unlock(&m);
    pthread_create(&t, NULL, cancelled, NULL); sem_wait(&locked); pthread_cancel(t); pthread_join(t, &r); printf("cancelled: %d %d\n", r == PTHREAD_CANCELED, pthread_mutex_lock(&m)); pthread_mutex_consistent(&m);
    printf("other: %ld\n", in_thread(other, NULL)); pthread_mutex_unlock(&m); pthread_mutex_destroy(&m);
    setup(PTHREAD_MUTEX_NORMAL, 0); printf("not robust: %d\n", pthread_mutex_consistent(&m));

    pthread_mutexattr_t a; int n, old; pthread_mutexattr_init(&a); pthread_mutexattr_setprotocol(&a, PTHREAD_PRIO_PROTECT); pthread_mutexattr_setprioceiling(&a, 20);
    printf("no ceiling: %d %d\n", pthread_mutex_getprioceiling(&m, &n), pthread_mutex_setprioceiling(&m, 5, &old)); pthread_mutex_destroy(&m);
    pthread_mutex_init(&m, &a); printf("%d ", pthread_mutex_getprioceiling(&m, &n)); printf("%d\n", n);

    pthread_attr_t attr; struct sched_param p = {0}; int policy; pthread_attr_init(&attr); pthread_getschedparam(pthread_self(), &policy, &p); printf("%d %d\n", policy == SCHED_OTHER, p.sched_priority);
    p.sched_priority = 10; printf("%d ", pthread_setschedparam(pthread_self(), SCHED_OTHER, &p)); printf("%d ", pthread_setschedparam(pthread_self(), 99, &p)); printf("%d\n", pthread_setschedprio(pthread_self(), 0));
    p.sched_priority = 0; printf("%d ", sched_setscheduler(0, SCHED_OTHER, &p)); printf("%d %d\n", sched_getscheduler(0) == SCHED_OTHER, sched_getparam(0, &p));

    setup(PTHREAD_MUTEX_NORMAL, 0); clock_gettime(CLOCK_REALTIME, &bad); bad.tv_nsec = 1000000000; sem_t s; sem_init(&s, 0, 1); pthread_rwlock_t l; pthread_rwlock_init(&l, NULL);
    printf("%d ", pthread_mutex_timedlock(&m, &bad)); printf("%d ", pthread_cond_timedwait(&c, &m, &bad)); printf("%d %d ", sem_timedwait(&s, &bad), errno); printf("%d %d ", pthread_rwlock_timedrdlock(&l, &bad), pthread_rwlock_timedwrlock(&l, &bad));
    bad.tv_nsec = -1; printf("%d %d ", nanosleep(&bad, NULL), errno); printf("%d\n", clock_nanosleep(CLOCK_MONOTONIC, 0, &bad, NULL));
    bad.tv_sec = -5; bad.tv_nsec = 0; do got = pthread_cond_timedwait(&c, &m, &bad); while (got == 0); printf("%d ", got); sem_wait(&s); printf("%d %d\n", sem_timedwait(&s, &bad), errno == ETIMEDOUT); pthread_mutex_unlock(&m);

    timer_t timer; struct sigevent e = {0}; struct itimerspec its = {0}; e.sigev_notify = SIGEV_NONE; printf("%d ", timer_create(CLOCK_MONOTONIC, &e, &timer)); its.it_value.tv_nsec = 1000000001; printf("%d ", timer_settime(timer, 0, &its, NULL)); printf("%d ", timer_getoverrun(timer)); printf("%d ", timer_delete(timer)); errno = 0;
    timer_t wrong; printf("%d %d\n", timer_create(9999, &e, &wrong), errno);
    return 0;
}
