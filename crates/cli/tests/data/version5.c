/* A lost update. crates/files/tests/data/version5.trace is a run of it, written by an unravel that wrote format 5. The
   mask is there for a note about signals. */
#include <assert.h>
#include <pthread.h>
#include <signal.h>

static int total;

static void *add(void *arg) {
    (void)arg;
    int seen = total;
    total = seen + 1;
    return 0;
}

int main(void) {
    sigset_t none;
    sigemptyset(&none);
    pthread_sigmask(SIG_SETMASK, &none, 0);
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], 0, add, 0);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], 0);
    assert(total == 2);
    return 0;
}
