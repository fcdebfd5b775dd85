// Threads: results, identity, detach, exit, keys with destructors, cancellation with cleanup handlers, attributes.
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

static pthread_key_t key, chained;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t never = PTHREAD_COND_INITIALIZER;
static sem_t started, blocked;
static _Thread_local int mine = 5;
static int destroyed, detached_done;

static void *square(void *arg) { long n = (long)arg; mine += (int)n; return (void *)(n * n + mine); }
static void leave(long code) { pthread_exit((void *)code); }
static void *exits(void *arg) { leave((long)arg + 1); return NULL; }
static void destroy(void *value) { destroyed += (int)(long)value; }
static int chain_rounds;
static void chain(void *value) { chain_rounds++; long n = (long)value; if (n > 1) pthread_setspecific(chained, (void *)(n - 1)); }
static void *uses_keys(void *arg) { printf("%d ", pthread_getspecific(key) == NULL); pthread_setspecific(key, arg); pthread_setspecific(chained, (void *)3L); printf("%ld\n", (long)pthread_getspecific(key)); return NULL; }
static void *detached(void *arg) { (void)arg; __atomic_store_n(&detached_done, 1, __ATOMIC_SEQ_CST); sem_post(&started); return NULL; }
static void say(void *text) { printf("cleanup %s\n", (char *)text); }
static void unlock(void *m) { printf("unlock %d\n", pthread_mutex_unlock(m)); }
static void *cancelled_in_wait(void *arg) {
    pthread_cleanup_push(say, "outer");
    pthread_mutex_lock(&lock);
    pthread_cleanup_push(unlock, &lock);
    sem_post(&started);
    for (;;) pthread_cond_wait(&never, &lock);
    pthread_cleanup_pop(1);
    pthread_cleanup_pop(0);
    return arg;
}
static void *cancelled_in_sem(void *arg) { pthread_setspecific(key, (void *)100L); pthread_cleanup_push(say, "sem"); sem_post(&started); sem_wait(&blocked); pthread_cleanup_pop(0); return arg; }
static void *disabled(void *arg) {
    int old, type; pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &old); pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, &type);
    sem_post(&started); sem_wait(&blocked); pthread_testcancel(); printf("still here %d %d\n", old == PTHREAD_CANCEL_ENABLE, type == PTHREAD_CANCEL_DEFERRED);
    pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, NULL); pthread_cleanup_push(say, "enabled"); pthread_testcancel(); printf("not reached\n"); pthread_cleanup_pop(0); return arg;
}
static void *pops(void *arg) { pthread_cleanup_push(say, "popped and run"); pthread_cleanup_push(say, "popped"); pthread_cleanup_pop(0); pthread_cleanup_pop(1); pthread_cleanup_push(say, "on exit"); pthread_exit(arg); pthread_cleanup_pop(0); return NULL; }
static void *nested(void *arg) { long n = (long)arg; if (n == 0) return (void *)1L; pthread_t t; void *r; pthread_create(&t, NULL, nested, (void *)(n - 1)); pthread_join(t, &r); return (void *)(n + (long)r * 2); }
static void *self(void *arg) { *(pthread_t *)arg = pthread_self(); return (void *)(long)pthread_equal(pthread_self(), pthread_self()); }
static void *sums(void *arg) { int *a = arg; long s = 0; for (int i = 0; i < 100; i++) s += a[i]; return (void *)s; }
static void *fails(void *arg) { errno = (int)(long)arg; close(-1); return (void *)(long)errno; }
static void prepare(void) {}

int main(void) {
    pthread_t t[10]; void *r;
    for (long i = 0; i < 10; i++) pthread_create(&t[i], NULL, square, (void *)i);
    for (int i = 0; i < 10; i++) { pthread_join(t[i], &r); printf("%ld ", (long)r); } printf("%d\n", mine);
    pthread_create(&t[0], NULL, exits, (void *)41L); pthread_join(t[0], &r); printf("%ld\n", (long)r);
    printf("%d %d\n", pthread_key_create(&key, destroy), pthread_key_create(&chained, chain)); pthread_create(&t[0], NULL, uses_keys, (void *)7L); pthread_join(t[0], NULL); printf("%d %d %d\n", destroyed, chain_rounds, pthread_getspecific(key) == NULL);
    sem_init(&started, 0, 0); sem_init(&blocked, 0, 0);
    pthread_attr_t attr; size_t size; int state; pthread_attr_init(&attr); printf("%d ", pthread_attr_setstacksize(&attr, 1 << 20)); pthread_attr_getstacksize(&attr, &size); printf("%zu ", size); pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED); pthread_attr_getdetachstate(&attr, &state); printf("%d\n", state == PTHREAD_CREATE_DETACHED);
    pthread_create(&t[0], &attr, detached, NULL); pthread_attr_destroy(&attr); sem_wait(&started); printf("%d\n", detached_done); detached_done = 0; pthread_create(&t[0], NULL, detached, NULL); printf("%d\n", pthread_detach(t[0])); sem_wait(&started); printf("%d\n", detached_done);
    pthread_create(&t[0], NULL, cancelled_in_wait, NULL); sem_wait(&started); pthread_mutex_lock(&lock); pthread_mutex_unlock(&lock); int sent = pthread_cancel(t[0]); pthread_join(t[0], &r); printf("%d %d %d\n", sent, r == PTHREAD_CANCELED, pthread_mutex_trylock(&lock)); pthread_mutex_unlock(&lock);
    destroyed = 0; pthread_create(&t[0], NULL, cancelled_in_sem, NULL); sem_wait(&started); pthread_cancel(t[0]); pthread_join(t[0], &r); printf("%d %d\n", r == PTHREAD_CANCELED, destroyed);
    pthread_create(&t[0], NULL, disabled, NULL); sem_wait(&started); pthread_cancel(t[0]); sem_post(&blocked); pthread_join(t[0], &r); printf("%d\n", r == PTHREAD_CANCELED);
    pthread_create(&t[0], NULL, pops, (void *)8L); pthread_join(t[0], &r); printf("%ld\n", (long)r);
    pthread_create(&t[0], NULL, nested, (void *)6L); pthread_join(t[0], &r); printf("%ld\n", (long)r);
    pthread_t seen; pthread_create(&t[0], NULL, self, &seen); pthread_t copy = t[0]; pthread_join(t[0], &r); printf("%ld %d %d\n", (long)r, pthread_equal(copy, seen) != 0, pthread_equal(copy, pthread_self()));
    int data[100]; for (int i = 0; i < 100; i++) data[i] = i; pthread_create(&t[0], NULL, sums, data); pthread_join(t[0], &r); printf("%ld\n", (long)r);
    errno = 3; pthread_create(&t[0], NULL, fails, (void *)77L); pthread_join(t[0], &r); printf("%d %d\n", (long)r == EBADF, errno);
    printf("%d %s\n", pthread_join(pthread_self(), NULL) == EDEADLK, pthread_setname_np(pthread_self(), "renamed") == 0 ? "named" : "not"); char thread_name[16]; pthread_getname_np(pthread_self(), thread_name, 16); printf("%s\n", thread_name);
    printf("%d\n", prctl(PR_SET_NAME, "a name that is too long")); pthread_getname_np(pthread_self(), thread_name, 16); printf("%s\n", thread_name); pthread_setname_np(pthread_self(), "again"); printf("%d %s\n", prctl(PR_GET_NAME, thread_name), thread_name);
    printf("%d %d\n", pthread_key_delete(key), pthread_setspecific(key, &key) == EINVAL); printf("%d %d\n", pthread_atfork(prepare, NULL, NULL), pthread_getconcurrency());
    pthread_create(&t[0], NULL, square, (void *)2L); while (pthread_tryjoin_np(t[0], &r) == EBUSY) usleep(100); printf("%ld\n", (long)r);
    pthread_attr_t mine_attr; void *stack; if (pthread_getattr_np(pthread_self(), &mine_attr) == 0) { pthread_attr_getstack(&mine_attr, &stack, &size); printf("%d\n", (char *)&t > (char *)stack && (char *)&t < (char *)stack + size); pthread_attr_destroy(&mine_attr); }
    fflush(stdout); pthread_exit((void *)5L);
}
