// Mutexes of all kinds, rwlocks, spin locks: return codes and mutual exclusion.
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static const char *name(int code) { return code == 0 ? "ok" : code == EBUSY ? "EBUSY" : code == EDEADLK ? "EDEADLK" : code == EPERM ? "EPERM" : code == EINVAL ? "EINVAL" : code == ETIMEDOUT ? "ETIMEDOUT" : code == EAGAIN ? "EAGAIN" : "other"; }
#define SHOW(call) printf("%-60s %s\n", #call, name(call))

static pthread_mutex_t plain = PTHREAD_MUTEX_INITIALIZER, recursive = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP, check = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP, adaptive = PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP;
static pthread_rwlock_t rw = PTHREAD_RWLOCK_INITIALIZER;
static pthread_spinlock_t spin;
static int shared, results[8];

static struct timespec soon(int clock, long ms) { struct timespec t; clock_gettime(clock, &t); t.tv_nsec += ms * 1000000; t.tv_sec += t.tv_nsec / 1000000000; t.tv_nsec %= 1000000000; return t; }

static void *try_from_other(void *arg) {
    struct timespec t = soon(CLOCK_REALTIME, 5);
    results[0] = pthread_mutex_trylock(&plain); results[1] = pthread_mutex_trylock(&recursive); results[2] = pthread_mutex_unlock(&check);
    results[3] = pthread_mutex_unlock(&recursive); results[4] = pthread_mutex_timedlock(&plain, &t); results[5] = pthread_spin_trylock(&spin);
    results[6] = pthread_rwlock_tryrdlock(&rw); results[7] = pthread_rwlock_trywrlock(&rw);
    return arg;
}
static void *add(void *arg) {
    for (int i = 0; i < 50; i++) { pthread_mutex_lock(arg); int v = shared; shared = v + 1; pthread_mutex_unlock(arg); }
    return NULL;
}
static void *spin_add(void *arg) { for (int i = 0; i < 30; i++) { pthread_spin_lock(&spin); shared++; pthread_spin_unlock(&spin); } return arg; }
static void *rw_add(void *arg) {
    long seen = 0;
    for (int i = 0; i < 20; i++) { if (i & 1) { pthread_rwlock_wrlock(&rw); shared++; } else { pthread_rwlock_rdlock(&rw); seen += shared >= 0; } pthread_rwlock_unlock(&rw); }
    return (void *)(seen + (long)arg);
}
static void run(const char *what, void *(*f)(void *), void *arg) {
    pthread_t t[3]; shared = 0; long sum = 0;
    for (int i = 0; i < 3; i++) if (pthread_create(&t[i], NULL, f, arg)) printf("no thread\n");
    for (int i = 0; i < 3; i++) { void *r; pthread_join(t[i], &r); sum += (long)r; }
    printf("%s: %d %ld\n", what, shared, sum);
}

int main(void) {
    SHOW(pthread_mutex_lock(&plain)); SHOW(pthread_mutex_trylock(&plain)); SHOW(pthread_mutex_unlock(&plain));
    SHOW(pthread_mutex_lock(&recursive)); SHOW(pthread_mutex_lock(&recursive)); SHOW(pthread_mutex_trylock(&recursive)); SHOW(pthread_mutex_unlock(&recursive)); SHOW(pthread_mutex_unlock(&recursive)); SHOW(pthread_mutex_unlock(&recursive)); SHOW(pthread_mutex_unlock(&recursive));
    SHOW(pthread_mutex_lock(&check)); SHOW(pthread_mutex_lock(&check)); SHOW(pthread_mutex_trylock(&check)); SHOW(pthread_mutex_unlock(&check)); SHOW(pthread_mutex_unlock(&check));
    SHOW(pthread_mutex_lock(&adaptive)); SHOW(pthread_mutex_unlock(&adaptive));
    pthread_mutexattr_t attr; int kind; pthread_mutex_t made;
    SHOW(pthread_mutexattr_init(&attr)); SHOW(pthread_mutexattr_gettype(&attr, &kind)); printf("%d\n", kind == PTHREAD_MUTEX_DEFAULT);
    SHOW(pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_RECURSIVE)); SHOW(pthread_mutexattr_settype(&attr, 99)); SHOW(pthread_mutexattr_gettype(&attr, &kind)); printf("%d\n", kind == PTHREAD_MUTEX_RECURSIVE);
    SHOW(pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_PRIVATE)); SHOW(pthread_mutex_init(&made, &attr)); SHOW(pthread_mutexattr_destroy(&attr));
    SHOW(pthread_mutex_lock(&made)); SHOW(pthread_mutex_lock(&made)); SHOW(pthread_mutex_unlock(&made)); SHOW(pthread_mutex_unlock(&made)); SHOW(pthread_mutex_destroy(&made));
    struct timespec t = soon(CLOCK_REALTIME, 5), past = { 1, 0 };
    SHOW(pthread_mutex_timedlock(&plain, &t)); SHOW(pthread_mutex_timedlock(&plain, &past)); SHOW(pthread_mutex_unlock(&plain)); SHOW(pthread_mutex_timedlock(&check, &t)); SHOW(pthread_mutex_timedlock(&check, &t)); SHOW(pthread_mutex_unlock(&check));
    SHOW(pthread_spin_init(&spin, PTHREAD_PROCESS_PRIVATE)); SHOW(pthread_spin_lock(&spin)); SHOW(pthread_spin_trylock(&spin)); SHOW(pthread_spin_unlock(&spin)); SHOW(pthread_spin_trylock(&spin)); SHOW(pthread_spin_unlock(&spin));
    SHOW(pthread_rwlock_rdlock(&rw)); SHOW(pthread_rwlock_rdlock(&rw)); SHOW(pthread_rwlock_trywrlock(&rw)); SHOW(pthread_rwlock_tryrdlock(&rw)); SHOW(pthread_rwlock_unlock(&rw)); SHOW(pthread_rwlock_unlock(&rw)); SHOW(pthread_rwlock_unlock(&rw));
    SHOW(pthread_rwlock_wrlock(&rw)); SHOW(pthread_rwlock_tryrdlock(&rw)); SHOW(pthread_rwlock_trywrlock(&rw)); SHOW(pthread_rwlock_wrlock(&rw)); SHOW(pthread_rwlock_rdlock(&rw)); SHOW(pthread_rwlock_unlock(&rw));
    t = soon(CLOCK_REALTIME, 5); SHOW(pthread_rwlock_timedrdlock(&rw, &t)); SHOW(pthread_rwlock_timedwrlock(&rw, &t)); SHOW(pthread_rwlock_unlock(&rw)); SHOW(pthread_rwlock_timedwrlock(&rw, &t)); SHOW(pthread_rwlock_unlock(&rw));
    pthread_t other; pthread_mutex_lock(&plain); pthread_mutex_lock(&recursive); pthread_mutex_lock(&check); pthread_spin_lock(&spin); pthread_rwlock_wrlock(&rw);
    pthread_create(&other, NULL, try_from_other, NULL); pthread_join(other, NULL);
    for (int i = 0; i < 8; i++) printf("%s ", name(results[i]));
    printf("\n"); pthread_mutex_unlock(&plain); pthread_mutex_unlock(&recursive); pthread_mutex_unlock(&check); pthread_spin_unlock(&spin); pthread_rwlock_unlock(&rw);
    pthread_rwlock_rdlock(&rw); pthread_create(&other, NULL, try_from_other, NULL); pthread_join(other, NULL); printf("%s %s\n", name(results[6]), name(results[7]));
    if (results[0] == 0) printf("taken by a thread that is gone\n");
    pthread_mutex_t locks[3] = { PTHREAD_MUTEX_INITIALIZER, PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP, PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP };
    for (int i = 0; i < 3; i++) { run("mutex", add, &locks[i]); SHOW(pthread_mutex_destroy(&locks[i])); }
    pthread_spin_destroy(&spin); pthread_spin_init(&spin, 0); run("spin", spin_add, NULL);
    pthread_rwlock_t fresh = PTHREAD_RWLOCK_INITIALIZER; memcpy(&rw, &fresh, sizeof rw); run("rwlock", rw_add, (void *)1L);
    SHOW(pthread_rwlock_destroy(&rw)); SHOW(pthread_spin_destroy(&spin));
    return 0;
}
