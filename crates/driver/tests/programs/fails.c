/* Ends as its first argument says, in the second thread. */
#include <assert.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER, b = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t both;
static const char *how;
static volatile int value = 7;

static int deep(int n)
{
    volatile char room[1024];
    room[0] = (char)n;
    return n < 0 ? room[0] : deep(n + 1) + room[0];
}

static void *fail(void *none)
{
    (void)none;
    if (!strcmp(how, "assert"))
        assert(value == 8);
    else if (!strcmp(how, "abort"))
        abort();
    else if (!strcmp(how, "segv"))
        *(volatile int *)(long)(value - 7) = 1;
    else if (!strcmp(how, "divide"))
        value = 100 / (value - 7);
    else if (!strcmp(how, "exit"))
        exit(value);
    else if (!strcmp(how, "_exit"))
        _exit(value + 1);
    else if (!strcmp(how, "overflow"))
        value = deep(0);
    else if (!strcmp(how, "kill"))
        kill(getpid(), SIGKILL);
    else if (!strcmp(how, "deadlock")) {
        pthread_mutex_lock(&b);
        pthread_barrier_wait(&both);
        pthread_mutex_lock(&a);
    }
    return 0;
}

int main(int argc, char **argv)
{
    pthread_t thread;
    how = argc > 1 ? argv[1] : "nothing";
    pthread_barrier_init(&both, 0, 2);
    pthread_create(&thread, 0, fail, 0);
    if (!strcmp(how, "deadlock")) {
        pthread_mutex_lock(&a);
        pthread_barrier_wait(&both);
        pthread_mutex_lock(&b);
    }
    pthread_join(thread, 0);
    puts("passed");
    return 0;
}
