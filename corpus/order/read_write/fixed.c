/*
 * read_write, repaired: the writer raises its flag before it lets the mutex go, so
 * the test and the entry are one step.
 */
#include <assert.h>
#include <pthread.h>
#include <stddef.h>

struct rwlock {
    pthread_mutex_t m;
    pthread_cond_t changed; /* w or r went down */
    int w;                  /* a writer is in */
    int r;                  /* readers that are in */
};

static struct rwlock lock = { .m = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER };
static int x; /* the shared value, under lock */

static void take_write_lock(struct rwlock *l)
{
    pthread_mutex_lock(&l->m);
    while (l->w != 0 || l->r != 0)
        pthread_cond_wait(&l->changed, &l->m);
    l->w = 1;
    pthread_mutex_unlock(&l->m);
}

static void release_write_lock(struct rwlock *l)
{
    pthread_mutex_lock(&l->m);
    l->w = 0;
    pthread_cond_broadcast(&l->changed);
    pthread_mutex_unlock(&l->m);
}

static void take_read_lock(struct rwlock *l)
{
    pthread_mutex_lock(&l->m);
    while (l->w != 0)
        pthread_cond_wait(&l->changed, &l->m);
    l->r++;
    pthread_mutex_unlock(&l->m);
}

static void release_read_lock(struct rwlock *l)
{
    pthread_mutex_lock(&l->m);
    l->r--;
    pthread_cond_broadcast(&l->changed);
    pthread_mutex_unlock(&l->m);
}

static void *writer(void *arg)
{
    int value = *(int *)arg;
    take_write_lock(&lock);
    x = value;
    release_write_lock(&lock);
    return NULL;
}

static void *reader(void *arg)
{
    (void)arg;
    take_read_lock(&lock);
    int y = x;
    assert(y == x);
    release_read_lock(&lock);
    return NULL;
}

int main(void)
{
    pthread_t w1, w2, r1, r2;
    int three = 3, four = 4;
    pthread_create(&w1, NULL, writer, &three);
    pthread_create(&w2, NULL, writer, &four);
    pthread_create(&r1, NULL, reader, NULL);
    pthread_create(&r2, NULL, reader, NULL);
    pthread_join(w1, NULL);
    pthread_join(r1, NULL);
    pthread_join(w2, NULL);
    pthread_join(r2, NULL);
    return 0;
}
