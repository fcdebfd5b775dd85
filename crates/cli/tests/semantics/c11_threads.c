// <threads.h>.
#include <stdatomic.h>
#include <stdio.h>
#include <threads.h>
#include <time.h>

static mtx_t lock, recursive;
static cnd_t changed;
static once_flag once = ONCE_FLAG_INIT;
static tss_t slot;
static int value, calls;
static atomic_int destroyed;
static atomic_int hits;
static thread_local int local = 3;

static void initialise(void) { calls++; }
static void destroy(void *p) { destroyed += *(int *)p; }
static int work(void *arg) {
    call_once(&once, initialise);
    static int cells[4]; int n = *(int *)arg; cells[n] = n + 1; tss_set(slot, &cells[n]); local += n;
    for (int i = 0; i < 10; i++) { mtx_lock(&lock); value++; mtx_unlock(&lock); atomic_fetch_add(&hits, 1); thrd_yield(); }
    mtx_lock(&lock); if (value == 40) cnd_broadcast(&changed); mtx_unlock(&lock);
    return local * 10 + *(int *)tss_get(slot);
}
static int leaves(void *arg) { (void)arg; thrd_exit(99); }

int main(void) {
    int ids[4] = { 0, 1, 2, 3 }, result; thrd_t t[4];
    printf("%d %d %d %d\n", mtx_init(&lock, mtx_plain), mtx_init(&recursive, mtx_recursive | mtx_timed), cnd_init(&changed), tss_create(&slot, destroy));
    for (int i = 0; i < 4; i++) if (thrd_create(&t[i], work, &ids[i]) != thrd_success) return 1;
    mtx_lock(&lock); while (value < 40) cnd_wait(&changed, &lock); mtx_unlock(&lock);
    for (int i = 0; i < 4; i++) { thrd_join(t[i], &result); printf("%d ", result); }
    printf("%d %d %d %d %d\n", value, calls, atomic_load(&hits), atomic_load(&destroyed), local);
    printf("%d %d %d\n", mtx_lock(&recursive), mtx_trylock(&recursive), mtx_unlock(&recursive)); mtx_unlock(&recursive);
    struct timespec when; timespec_get(&when, TIME_UTC); when.tv_nsec += 1000000; if (when.tv_nsec >= 1000000000) { when.tv_sec++; when.tv_nsec -= 1000000000; }
    mtx_lock(&lock); printf("%d %d\n", cnd_timedwait(&changed, &lock, &when) == thrd_timedout, mtx_trylock(&lock) == thrd_busy); mtx_unlock(&lock);
    printf("%d %d\n", mtx_timedlock(&recursive, &when), mtx_unlock(&recursive));
    thrd_create(&t[0], leaves, NULL); thrd_join(t[0], &result); printf("%d %d\n", result, thrd_equal(thrd_current(), thrd_current()) != 0);
    thrd_create(&t[0], leaves, NULL); printf("%d\n", thrd_detach(t[0])); thrd_sleep(&(struct timespec){ 0, 1000 }, NULL);
    mtx_destroy(&lock); mtx_destroy(&recursive); cnd_destroy(&changed); tss_delete(slot);
    return 0;
}
