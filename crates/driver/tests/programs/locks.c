/* Locks that fail, that are tried in vain and that are waited for, over and over on the same objects. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static pthread_mutex_t plain = PTHREAD_MUTEX_INITIALIZER, checked;
static pthread_rwlock_t shared = PTHREAD_RWLOCK_INITIALIZER;
static pthread_spinlock_t spin;
static pthread_barrier_t started;

static int one_round(int i)
{
    int failed = 0;
    pthread_mutex_lock(&checked);
    failed += pthread_mutex_lock(&checked) == EDEADLK;
    failed += pthread_mutex_trylock(&checked) == EBUSY;
    pthread_mutex_unlock(&checked);
    failed += pthread_mutex_unlock(&checked) == EPERM;
    pthread_rwlock_rdlock(&shared);
    failed += pthread_rwlock_trywrlock(&shared) == EBUSY;
    pthread_rwlock_unlock(&shared);
    pthread_rwlock_wrlock(&shared);
    failed += pthread_rwlock_tryrdlock(&shared) == EBUSY;
    pthread_rwlock_unlock(&shared);
    pthread_spin_lock(&spin);
    if (i % 3 == 0)
        failed += pthread_spin_trylock(&spin) == EBUSY;
    pthread_spin_unlock(&spin);
    return failed;
}

static void *waits(void *argument)
{
    pthread_mutex_lock(&plain);
    pthread_mutex_unlock(&plain);
    pthread_barrier_wait(&started);
    pthread_barrier_wait(&started);
    pthread_mutex_lock(&plain);
    return argument;
}

int main(int count, char **arguments)
{
    int rounds = atoi(arguments[1]), failed = 0;
    pthread_t thread;
    pthread_mutexattr_t kind;
    pthread_mutexattr_init(&kind);
    pthread_mutexattr_settype(&kind, PTHREAD_MUTEX_ERRORCHECK);
    pthread_mutex_init(&checked, &kind);
    pthread_spin_init(&spin, 0);
    for (int i = 0; i < rounds; i++)
        failed += one_round(i);
    printf("%d\n", failed);
    fflush(stdout);
    if (count < 3)
        return 0;
    pthread_barrier_init(&started, 0, 2);
    pthread_create(&thread, 0, waits, 0);
    pthread_barrier_wait(&started);
    pthread_mutex_lock(&plain);
    pthread_barrier_wait(&started);
    usleep(300000);
    exit(3);
}
