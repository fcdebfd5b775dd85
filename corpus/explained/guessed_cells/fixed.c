// Modelled on programs of the software verification competition that guess: a thread asks for any number and assumes that it is
// the one it needs, here that of a free cell, and later that of its own. `abort` is how an assumption ends a run of no interest;
// what counts as an error is `reach_error`.
// The twin of guessed_cells.c: the cells in use are counted where the cell is taken.

#include <pthread.h>

extern int __VERIFIER_nondet_int(void);
extern void __VERIFIER_atomic_begin(void);
extern void __VERIFIER_atomic_end(void);
extern void abort(void);
void reach_error(void) {}

enum { CELLS = 6, THREADS = 3, ROUNDS = 2 };

static int taken[CELLS];
static int in_use;

static int take(void) {
    __VERIFIER_atomic_begin();
    int cell = __VERIFIER_nondet_int();
    if (cell < 0 || cell >= CELLS) abort();
    if (taken[cell]) abort();
    taken[cell] = 1;
    in_use++;
    __VERIFIER_atomic_end();
    return cell;
}

static void give_back(int cell) {
    __VERIFIER_atomic_begin();
    if (__VERIFIER_nondet_int() != cell) abort();
    taken[cell] = 0;
    in_use--;
    __VERIFIER_atomic_end();
}

static void *work(void *unused) {
    (void)unused;
    for (int round = 0; round < ROUNDS; round++) give_back(take());
    return 0;
}

int main(void) {
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++) pthread_create(&threads[i], 0, work, 0);
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], 0);
    if (in_use != 0) {
        reach_error();
        abort();
    }
    return 0;
}
