//! Which functions reports see through.

mod support;

use std::collections::BTreeSet;

use support::{OBSERVED, OPTIMISED, load_c, load_text};
use unravel_code::{Program, wrappers};

/// The functions that have a line which is seen through.
fn seen_through(program: &Program) -> BTreeSet<&str> {
    let places = program.sites.iter().map(|site| &site.place);
    places.filter(|place| place.wrapper).map(|place| &*place.function).collect()
}

const C: &str = "#include <pthread.h>\n#include <stdatomic.h>\n#include <stdio.h>\n#include <stdlib.h>\n\
    struct guard { long taken; pthread_mutex_t mutex; pthread_cond_t filled; atomic_int count; };\n\
    static void stop(int e) { fprintf(stderr, \"%d\", e); exit(2); }\n\
    void take(struct guard *g) { int e = pthread_mutex_lock(&g->mutex); if (e != 0) stop(e); }\n\
    void give(struct guard *g) { int e = pthread_mutex_unlock(&g->mutex); if (e != 0) stop(e); }\n\
    void take_it(struct guard *g) { take(g); }\n\
    void wake(struct guard *g) { pthread_cond_signal(&g->filled); pthread_mutex_unlock(&g->mutex); }\n\
    int counted(struct guard *g) { return atomic_load(&g->count); }\n\
    void *allot(size_t n) { void *p = malloc(n); if (!p) stop(1); return p; }\n\
    int read_it(struct guard *g, int *v) { take(g); int r = *v; give(g); return r; }\n\
    void put(struct guard *g, int *v) { *v = 1; pthread_cond_signal(&g->filled); }\n\
    static atomic_int tickets;\n\
    int ticket(void) { return atomic_fetch_add(&tickets, 1); }\n\
    void spin(struct guard *g) { while (atomic_exchange(&g->count, 1)) ; }\n\
    void counting(struct guard *g) { take(g); g->taken++; }\n\
    void *worker(void *g) { take_it(g); give(g); return NULL; }\n\
    void *once(void *g) { pthread_mutex_lock(g); return NULL; }\n\
    int main(void) { struct guard *g = allot(sizeof *g); pthread_t t; pthread_create(&t, NULL, worker, g);\n\
    pthread_create(&t, NULL, once, g); wake(g); put(g, (int *)&g->taken); spin(g); counting(g);\n\
    return counted(g) + ticket() + read_it(g, (int *)&g->taken); }\n";

#[test]
fn short_functions_around_one_operation() {
    let program = load_c(C, OBSERVED);
    let expected = ["allot", "counted", "give", "take", "take_it", "wake"];
    assert_eq!(seen_through(&program), BTreeSet::from(expected));
}

/// A library of locks with a number in them, and what only looks like a part of it.
const BOLT: &str = "#include <pthread.h>\n#include <stdio.h>\n#include <stdlib.h>\n\
    struct bolt { pthread_mutex_t mutex; pthread_cond_t cond; long value; long other; };\n\
    static void stop(int e) { fprintf(stderr, \"%d\", e); exit(2); }\n\
    void possess(struct bolt *b) { int e = pthread_mutex_lock(&b->mutex); if (e) stop(e); }\n\
    void twist(struct bolt *b, int by, long n) { if (by) b->value += n; else b->value = n;\n\
    int e = pthread_cond_broadcast(&b->cond); if (e) stop(e); e = pthread_mutex_unlock(&b->mutex); if (e) stop(e); }\n\
    void wait_for(struct bolt *b, int more, long n) { switch (more) {\n\
    case 0: while (b->value != n) { int e = pthread_cond_wait(&b->cond, &b->mutex); if (e) stop(e); } break;\n\
    default: while (b->value <= n) { int e = pthread_cond_wait(&b->cond, &b->mutex); if (e) stop(e); } } }\n\
    void post(struct bolt *b) { possess(b); b->value++; pthread_cond_signal(&b->cond); pthread_mutex_unlock(&b->mutex); }\n\
    void both(struct bolt *b) { b->value++; b->other++; pthread_cond_signal(&b->cond); pthread_mutex_unlock(&b->mutex); }\n\
    static long seen;\n\
    void noted(struct bolt *b) { seen++; b->value = 1; pthread_cond_signal(&b->cond); pthread_mutex_unlock(&b->mutex); }\n\
    void until(struct bolt *b, int *flag) { while (!*flag) pthread_cond_wait(&b->cond, &b->mutex); }\n\
    int main(void) { struct bolt b = {0}; int flag = 1; possess(&b); wait_for(&b, 0, 0); twist(&b, 1, 1); post(&b); both(&b); noted(&b);\n\
    until(&b, &flag); return 0; }\n";

#[test]
fn parts_of_a_protocol_under_the_callers_lock() {
    let program = load_c(BOLT, OBSERVED);
    let expected = ["possess", "twist", "wait_for"];
    assert_eq!(seen_through(&program), BTreeSet::from(expected));
}

#[test]
fn inlined_copies_too() {
    let text = C.replace("void take(", "static inline void take(");
    let program = load_c(&text, OPTIMISED);
    let inlined = program.sites.iter().filter(|site| !site.inlined_at.is_empty());
    let mut taken = inlined.filter(|site| &*site.place.function == "take").peekable();
    // Whether the compiler keeps a copy to look at is its own affair.
    assert!(taken.all(|site| site.place.wrapper || site.place.line != 7));
}

#[test]
fn methods_and_guards_around_the_library() {
    let program = load_text(
        "#include <mutex>\n#include <condition_variable>\n\
         struct Mutex { void Lock() { inner.lock(); } void Unlock() { inner.unlock(); } std::mutex inner; };\n\
         struct Hold { explicit Hold(Mutex *m) : mutex(m) { mutex->Lock(); } ~Hold() { mutex->Unlock(); } Mutex *mutex; };\n\
         struct Signal { void Wait() { std::unique_lock<std::mutex> l(m->inner, std::adopt_lock); cv.wait(l); l.release(); }\n\
         Mutex *m; std::condition_variable cv; };\n\
         struct Box { int get() { Hold h(&m); return v; } void set() { std::lock_guard<std::mutex> l(m.inner); v = 1; } Mutex m; int v; };\n\
         int main() { Box b; Signal s; s.m = &b.m; b.set(); s.Wait(); return b.get(); }\n",
        "test.cpp",
        OBSERVED,
    );
    // What sets up and tears down the condition is a constructor's, though nobody wrote it.
    let expected = [
        "Hold::Hold",
        "Hold::~Hold",
        "Mutex::Lock",
        "Mutex::Unlock",
        "Signal::Signal",
        "Signal::Wait",
        "Signal::~Signal",
    ];
    assert_eq!(seen_through(&program), BTreeSet::from(expected));
}

#[test]
fn named_by_hand() {
    let mut program = load_c(C, OBSERVED);
    let names = ["spin".to_owned(), "counting".to_owned(), "nobody".to_owned()];
    assert_eq!(wrappers::mark_named(&mut program, &names), ["nobody"]);
    assert!(seen_through(&program).is_superset(&BTreeSet::from(["spin", "counting"])));
}
