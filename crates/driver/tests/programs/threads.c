/* Threads of threads, with locks, a condition, a barrier, a semaphore, a read-write lock, and once. */
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t ready = PTHREAD_COND_INITIALIZER;
static pthread_rwlock_t table = PTHREAD_RWLOCK_INITIALIZER;
static pthread_barrier_t barrier;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static sem_t tokens;
static int rounds, waiting, total;

static void set_up(void)
{
    if (rounds > 3)
        total++;
}

static void *leaf(void *argument)
{
    int n = *(int *)argument;
    for (int i = 0; i < n; i++) {
        if (pthread_mutex_trylock(&lock) == 0) {
            total += i & 1 ? 2 : 1;
            pthread_mutex_unlock(&lock);
        }
    }
    return 0;
}

static void *worker(void *argument)
{
    int n = *(int *)argument;
    pthread_t child;
    pthread_once(&once, set_up);
    pthread_create(&child, 0, leaf, argument);
    for (int i = 0; i < n; i++) {
        pthread_mutex_lock(&lock);
        if (i % 3)
            total++;
        pthread_mutex_unlock(&lock);
        sem_wait(&tokens);
        if (i % 5 == 0) {
            pthread_rwlock_wrlock(&table);
            rounds++;
        } else {
            pthread_rwlock_rdlock(&table);
            total += rounds > 1000;
        }
        pthread_rwlock_unlock(&table);
        sem_post(&tokens);
    }
    pthread_join(child, 0);
    pthread_barrier_wait(&barrier);
    pthread_mutex_lock(&lock);
    waiting--;
    pthread_cond_signal(&ready);
    pthread_mutex_unlock(&lock);
    return 0;
}

int main(int argc, char **argv)
{
    int n = argc > 1 ? atoi(argv[1]) : 50, count = argc > 2 ? atoi(argv[2]) : 3;
    pthread_t *threads = malloc(sizeof *threads * (size_t)count);
    pthread_barrier_init(&barrier, 0, (unsigned)count);
    sem_init(&tokens, 0, 2);
    waiting = count;
    for (int i = 0; i < count; i++)
        pthread_create(&threads[i], 0, worker, &n);
    pthread_mutex_lock(&lock);
    while (waiting)
        pthread_cond_wait(&ready, &lock);
    pthread_mutex_unlock(&lock);
    for (int i = 0; i < count; i++)
        pthread_join(threads[i], 0);
    printf("%d\n", rounds);
    free(threads);
    return 0;
}
