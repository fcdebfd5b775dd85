/* Random delays for programs that are recorded natively: a preloaded library. Failures that need two threads to meet are rare on
 * a quiet machine; delays at thread starts and sync operations, and a timer a thread that stops it anywhere for a moment, make
 * them frequent without changing what the program may do. NOISE_SEED seeds it. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static uint64_t seed;
static atomic_ulong threads;
static __thread uint64_t state;
static __thread int inside;

static uint64_t word(void) {
    if (!state) state = seed + 0x9e3779b97f4a7c15u * (1 + atomic_fetch_add(&threads, 1));
    state += 0x9e3779b97f4a7c15u;
    uint64_t z = state;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static void pause_for(uint64_t nanoseconds) {
    struct timespec time = {0, (long)nanoseconds};
    syscall(SYS_nanosleep, &time, 0);
}

/* One time in `one_in`, for at most so long. */
static void perhaps(unsigned one_in, uint64_t most) {
    uint64_t drawn = word();
    if (drawn % one_in == 0) pause_for(drawn / one_in % most + 1);
}

static void on_tick(int signal) {
    (void)signal;
    perhaps(2, 400000);
}

/* A timer that interrupts only the calling thread. */
static void start_ticking(void) {
    timer_t timer;
    struct sigevent event;
    memset(&event, 0, sizeof event);
    event.sigev_notify = SIGEV_THREAD_ID;
    event.sigev_signo = SIGRTMAX - 3;
    event._sigev_un._tid = (int)syscall(SYS_gettid);
    if (timer_create(CLOCK_MONOTONIC, &event, &timer)) return;
    long period = 20000 + (long)(word() % 200000);
    struct itimerspec time = {{0, period}, {0, 1000 + (long)(word() % 50000)}};
    timer_settime(timer, 0, &time, 0);
}

__attribute__((constructor)) static void begin(void) {
    const char *text = getenv("NOISE_SEED");
    seed = text ? strtoull(text, 0, 10) * 0x2545f4914f6cdd1du + 1 : 1;
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = on_tick;
    action.sa_flags = SA_RESTART;
    sigaction(SIGRTMAX - 3, &action, 0);
    start_ticking();
}

#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

struct start {
    void *(*function)(void *);
    void *argument;
};

static void *started(void *pointer) {
    struct start start = *(struct start *)pointer;
    free(pointer);
    start_ticking();
    perhaps(2, 300000);
    return start.function(start.argument);
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*function)(void *), void *argument) {
    struct start *start = malloc(sizeof *start);
    start->function = function;
    start->argument = argument;
    int result = NEXT(pthread_create)(thread, attributes, started, start);
    perhaps(3, 300000);
    return result;
}

#define AROUND(name, parameters, arguments)                                                                              \
    int name parameters {                                                                                                \
        static __typeof__(&name) next;                                                                                   \
        if (!next) next = NEXT(name);                                                                                    \
        if (inside) return next arguments;                                                                               \
        inside = 1;                                                                                                      \
        perhaps(4, 200000);                                                                                              \
        inside = 0;                                                                                                      \
        int result = next arguments;                                                                                     \
        if (!inside) {                                                                                                   \
            inside = 1;                                                                                                  \
            perhaps(6, 200000);                                                                                          \
            inside = 0;                                                                                                  \
        }                                                                                                                \
        return result;                                                                                                   \
    }

AROUND(pthread_mutex_lock, (pthread_mutex_t * m), (m))
AROUND(pthread_mutex_trylock, (pthread_mutex_t * m), (m))
AROUND(pthread_mutex_unlock, (pthread_mutex_t * m), (m))
AROUND(pthread_cond_signal, (pthread_cond_t * c), (c))
AROUND(pthread_cond_broadcast, (pthread_cond_t * c), (c))
AROUND(sem_wait, (sem_t * s), (s))
AROUND(sem_post, (sem_t * s), (s))
AROUND(pthread_rwlock_rdlock, (pthread_rwlock_t * l), (l))
AROUND(pthread_rwlock_wrlock, (pthread_rwlock_t * l), (l))
AROUND(pthread_rwlock_unlock, (pthread_rwlock_t * l), (l))
