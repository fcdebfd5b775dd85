// A barrier that is set up anew before all have left it, cancellation where a stream writes, and a timer that nobody looks at.
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

enum { THREADS = 3, ROUNDS = 4 };
static pthread_barrier_t first, second;
static int renewed;
static sem_t started;
static FILE *nowhere;

static void renew(pthread_barrier_t *barrier) {
    if (pthread_barrier_wait(barrier) != PTHREAD_BARRIER_SERIAL_THREAD) return;
    pthread_barrier_destroy(barrier);
    pthread_barrier_init(barrier, NULL, THREADS);
    __atomic_add_fetch(&renewed, 1, __ATOMIC_SEQ_CST);
}
static void *meets(void *arg) {
    for (int round = 0; round < ROUNDS; round++) { renew(&first); renew(&second); }
    return arg;
}
static void *writes(void *arg) {
    sem_post(&started);
    for (;;) fputs("again", nowhere);
    return arg;
}

int main(void) {
    pthread_t t[THREADS];
    void *r;
    pthread_barrier_init(&first, NULL, THREADS);
    pthread_barrier_init(&second, NULL, THREADS);
    for (int i = 0; i < THREADS; i++) pthread_create(&t[i], NULL, meets, NULL);
    for (int i = 0; i < THREADS; i++) pthread_join(t[i], NULL);
    printf("%d\n", renewed);

    sem_init(&started, 0, 0);
    nowhere = fopen("/dev/null", "w");
    setvbuf(nowhere, NULL, _IONBF, 0);
    pthread_create(&t[0], NULL, writes, NULL);
    sem_wait(&started);
    pthread_cancel(t[0]);
    pthread_join(t[0], &r);
    printf("%d\n", r == PTHREAD_CANCELED);

    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    sigprocmask(SIG_BLOCK, &set, NULL);
    timer_t timer;
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1};
    struct itimerspec often = {{0, 1000000}, {0, 1000000}};
    struct timespec long_enough = {0, 150000000};
    timer_create(CLOCK_MONOTONIC, &event, &timer);
    timer_settime(timer, 0, &often, NULL);
    sigset_t pending;
    do {
        nanosleep(&long_enough, NULL);
        sigpending(&pending);
    } while (!sigismember(&pending, SIGUSR1));
    printf("pending\n");
    timer_delete(timer);
    return 0;
}
