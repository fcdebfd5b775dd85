/* Unlocks that write nothing, because a lock before them says of what they are, and some that cannot do without. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static pthread_mutex_t locks[4];
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int shared[4], *volatile nowhere;

/* The two locks are given back in the order in which they were taken. */
__attribute__((noinline)) static void crossed(int a, int b)
{
    pthread_mutex_lock(&locks[a]);
    pthread_mutex_lock(&locks[b]);
    if (shared[a] > shared[b])
        shared[a]--;
    pthread_mutex_unlock(&locks[a]);
    shared[b]++;
    pthread_mutex_unlock(&locks[b]);
}

/* One pointer, several objects: each round has its own. */
__attribute__((noinline)) static void in_turn(int rounds)
{
    for (int i = 0; i < rounds; i++) {
        pthread_mutex_t *lock = &locks[i % 4];
        if (pthread_mutex_trylock(lock) == 0) {
            shared[i % 4]++;
            pthread_mutex_unlock(lock);
        }
    }
}

/* Whether it was locked here depends on the way: the unlock keeps its record. */
__attribute__((noinline)) static void perhaps(int a, int held)
{
    if (!held)
        pthread_mutex_lock(&locks[a]);
    shared[a]++;
    pthread_mutex_unlock(&locks[a]);
}

__attribute__((noinline)) static void crashes(void)
{
    pthread_mutex_lock(&locks[3]);
    *nowhere = 1;
    pthread_mutex_unlock(&locks[3]);
}

static void *other(void *argument)
{
    pthread_mutex_lock(&locks[0]);
    shared[0] = -1;
    pthread_cond_signal(&changed);
    pthread_mutex_unlock(&locks[0]);
    return argument;
}

int main(int count, char **arguments)
{
    pthread_t thread;
    for (int i = 0; i < 4; i++)
        pthread_mutex_init(&locks[i], 0);
    crossed(0, 1);
    crossed(2, 0);
    in_turn(6);
    perhaps(1, 0);
    pthread_mutex_lock(&locks[2]);
    perhaps(2, 1);
    pthread_mutex_lock(&locks[0]);
    pthread_create(&thread, 0, other, 0);
    while (shared[0] >= 0)
        pthread_cond_wait(&changed, &locks[0]);
    pthread_mutex_unlock(&locks[0]);
    pthread_join(thread, 0);
    for (int i = 0; i < atoi(arguments[1]); i++)
        crossed(i % 3, 3);
    printf("%d\n", shared[1]);
    fflush(stdout);
    if (count > 2)
        crashes();
    return 0;
}
