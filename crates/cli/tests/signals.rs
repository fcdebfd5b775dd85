//! Signals that a program sends itself.

mod support;

use support::{FINDING, INCONCLUSIVE, NOTHING, directory, says, write};

const HEADERS: &str = "\
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <string.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
static void handle(int number, void (*handler)(int), int flags) {
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = handler;
    action.sa_flags = flags;
    sigaction(number, &action, 0);
}
static sigset_t only(int number) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, number);
    return set;
}
";

/// What `find` says of a program with these functions, at all schedules that it tries.
fn find(test: &str, program: &str, code: i32) -> String {
    find_with(test, program, &[], code)
}

fn find_with(test: &str, program: &str, flags: &[&str], code: i32) -> String {
    let directory = directory(&format!("signals-{test}"));
    write(&directory, "program.c", &format!("{HEADERS}{program}"));
    says(&directory, &[&["find", "program.c", "--schedules", "300", "--all"], flags].concat(), code)
}

/// As in pbzip2: a thread waits for the signal that ends it, which main sends when the work is done.
#[test]
fn a_thread_in_sigwait_gets_what_main_sends() {
    let out = find(
        "pbzip2",
        "\
static int stopped, done;
static void *waiter(void *p) {
    sigset_t set = only(SIGUSR1);
    int number;
    sigaddset(&set, SIGTERM);
    assert(sigwait(&set, &number) == 0);
    if (number != SIGUSR1) exit(1);
    stopped = 1;
    return p;
}
static void *work(void *p) { done = 1; return p; }
int main(void) {
    sigset_t set = only(SIGUSR1);
    pthread_t s, w;
    sigaddset(&set, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &set, 0);
    pthread_create(&s, 0, waiter, 0);
    pthread_create(&w, 0, work, 0);
    pthread_join(w, 0);
    assert(pthread_kill(s, SIGUSR1) == 0);
    pthread_join(s, 0);
    assert(stopped && done);
    return 0;
}
",
        NOTHING,
    );
    assert!(!out.contains("signals from outside"), "{out}");
}

/// As in lbzip2: main sits in `sigsuspend` until a worker sends the process a signal.
#[test]
fn sigsuspend_ends_by_a_signal_for_the_process() {
    find(
        "lbzip2",
        "\
static volatile sig_atomic_t seen;
static void on(int number) { seen = number; }
static void *work(void *p) { *(int *)p = 1; kill(getpid(), SIGUSR2); return 0; }
int main(void) {
    sigset_t set = only(SIGUSR2), before;
    pthread_t w;
    int done = 0;
    handle(SIGUSR2, on, 0);
    pthread_sigmask(SIG_BLOCK, &set, &before);
    pthread_create(&w, 0, work, &done);
    while (!seen) assert(sigsuspend(&before) == -1 && errno == EINTR);
    assert(seen == SIGUSR2 && done);
    pthread_join(w, 0);
    return 0;
}
",
        NOTHING,
    );
}

/// The handler sees what a schedule lets it see, and gets what was sent along.
#[test]
fn a_handler_runs_between_any_two_events_of_its_thread() {
    let out = find(
        "between",
        "\
static int steps, seen = -1;
static void on(int number, siginfo_t *info, void *context) {
    assert(info->si_signo == number && info->si_code == SI_QUEUE && info->si_value.sival_int == 7);
    assert(info->si_pid == getpid());
    seen = steps;
}
static void *work(void *p) {
    for (int i = 1; i <= 3; i++) __atomic_store_n(&steps, i, __ATOMIC_SEQ_CST);
    return p;
}
int main(void) {
    struct sigaction action;
    union sigval value;
    pthread_t w;
    memset(&action, 0, sizeof action);
    action.sa_sigaction = on;
    action.sa_flags = SA_SIGINFO;
    sigaction(SIGUSR1, &action, 0);
    pthread_create(&w, 0, work, 0);
    value.sival_int = 7;
    pthread_sigqueue(w, SIGUSR1, value);
    pthread_join(w, 0);
    assert(seen != 2);
    return 0;
}
",
        FINDING,
    );
    assert!(out.contains("assertion 'seen != 2' failed"), "{out}");
    assert!(out.contains("replayed: fails again"), "{out}");
    assert!(out.contains("every moment at which a signal could arrive"), "{out}");
}

#[test]
fn a_blocked_thread_wakes_for_the_handler_and_waits_again() {
    find(
        "again",
        "\
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t c = PTHREAD_COND_INITIALIZER;
static int go;
static volatile sig_atomic_t hits;
static void on(int number) { hits++; }
static void *work(void *p) {
    pthread_mutex_lock(&m);
    while (!go) pthread_cond_wait(&c, &m);
    pthread_mutex_unlock(&m);
    return p;
}
int main(void) {
    pthread_t w;
    handle(SIGUSR1, on, 0);
    pthread_create(&w, 0, work, 0);
    pthread_mutex_lock(&m);
    assert(pthread_kill(w, SIGUSR1) == 0);
    go = 1;
    pthread_cond_signal(&c);
    pthread_mutex_unlock(&m);
    pthread_join(w, 0);
    return 0;
}
",
        NOTHING,
    );
}

/// A semaphore's wait is left, but not where the handler says that calls are restarted.
#[test]
fn waits_are_left_by_eintr_unless_they_restart() {
    let program = |flags: &str| {
        format!(
            "\
static sem_t s;
static int left;
static void on(int number) {{ }}
static void *work(void *p) {{
    if (sem_wait(&s)) {{ assert(errno == EINTR); left = 1; }}
    return p;
}}
int main(void) {{
    pthread_t w;
    handle(SIGUSR1, on, {flags});
    sem_init(&s, 0, 0);
    pthread_create(&w, 0, work, 0);
    pthread_kill(w, SIGUSR1);
    sem_post(&s);
    pthread_join(w, 0);
    assert(!left);
    return 0;
}}
"
        )
    };
    let out = find("eintr", &program("0"), FINDING);
    assert!(out.contains("assertion '!left' failed"), "{out}");
    find("restart", &program("SA_RESTART"), NOTHING);
}

#[test]
fn masks_hold_signals_back_and_are_inherited() {
    find(
        "mask",
        "\
static volatile sig_atomic_t hits;
static void on(int number) { hits++; }
static void *work(void *p) {
    sigset_t now, set = only(SIGUSR1);
    pthread_sigmask(SIG_BLOCK, 0, &now);
    assert(sigismember(&now, SIGUSR1));
    raise(SIGUSR1);
    raise(SIGUSR1);
    assert(hits == 0);
    sigpending(&now);
    assert(sigismember(&now, SIGUSR1));
    pthread_sigmask(SIG_UNBLOCK, &set, 0);
    assert(hits == 1);
    return p;
}
int main(void) {
    sigset_t set = only(SIGUSR1);
    pthread_t w;
    handle(SIGUSR1, on, 0);
    pthread_sigmask(SIG_BLOCK, &set, 0);
    pthread_create(&w, 0, work, 0);
    pthread_join(w, 0);
    assert(hits == 1);
    return 0;
}
",
        NOTHING,
    );
}

/// Which of two threads gets it is the schedule's choice.
#[test]
fn a_signal_for_the_process_goes_to_any_thread_that_does_not_block_it() {
    let out = find(
        "any",
        "\
static pthread_t first;
static volatile sig_atomic_t by_worker;
static void on(int number) { if (!pthread_equal(pthread_self(), first)) by_worker = 1; }
static void *work(void *p) { return p; }
int main(void) {
    pthread_t w;
    first = pthread_self();
    handle(SIGUSR1, on, 0);
    pthread_create(&w, 0, work, 0);
    kill(getpid(), SIGUSR1);
    pthread_join(w, 0);
    assert(!by_worker);
    return 0;
}
",
        FINDING,
    );
    assert!(out.contains("replayed: fails again"), "{out}");
}

#[test]
fn sigtimedwait_runs_out_and_sigwaitinfo_tells() {
    find(
        "timed",
        "\
int main(void) {
    sigset_t set = only(SIGUSR1);
    struct timespec time = {1, 0};
    siginfo_t info;
    sigprocmask(SIG_BLOCK, &set, 0);
    assert(sigtimedwait(&set, &info, &time) == -1 && errno == EAGAIN);
    kill(getpid(), SIGUSR1);
    assert(sigwaitinfo(&set, &info) == SIGUSR1 && info.si_signo == SIGUSR1);
    return 0;
}
",
        NOTHING,
    );
}

#[test]
fn who_waits_for_a_signal_that_nobody_sends_is_told_so() {
    let program = "int main(void) { sigset_t set = only(SIGTERM); int number; return sigwait(&set, &number); }\n";
    let out = find("nobody", program, FINDING);
    assert!(out.contains("waits for a signal that nobody in the program sends"), "{out}");
    assert!(out.contains("note: signals from outside"), "{out}");
}

#[test]
fn what_ends_the_process_by_default_is_a_failure() {
    let out = find("default", "int main(void) { return kill(getpid(), SIGTERM); }\n", FINDING);
    assert!(out.contains("abort: the program sends itself signal 15"), "{out}");
    find("harmless", "int main(void) { return kill(getpid(), SIGCHLD); }\n", NOTHING);
}

#[test]
fn what_cannot_be_followed_is_inconclusive() {
    let program = "\
#include <ucontext.h>
static void on(int number, siginfo_t *info, void *context) {
    if (((ucontext_t *)context)->uc_mcontext.gregs[0]) abort();
}
int main(void) {
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_sigaction = on;
    action.sa_flags = SA_SIGINFO;
    sigaction(SIGUSR1, &action, 0);
    return raise(SIGUSR1);
}
";
    let out = find("context", program, INCONCLUSIVE);
    assert!(out.contains("interrupted context"), "{out}");
}

/// A handler that locks orders what it does, for races as for everything else.
#[test]
fn whoever_is_interrupted_knows_what_the_sender_did() {
    let directory = directory("signals-races");
    let program = "\
static int data;
static void *waiter(void *p) {
    sigset_t set = only(SIGUSR1);
    int number;
    sigwait(&set, &number);
    data++;
    return p;
}
int main(void) {
    sigset_t set = only(SIGUSR1);
    pthread_t w;
    pthread_sigmask(SIG_BLOCK, &set, 0);
    pthread_create(&w, 0, waiter, 0);
    data = 1;
    pthread_kill(w, SIGUSR1);
    pthread_join(w, 0);
    return data != 2;
}
";
    write(&directory, "program.c", &format!("{HEADERS}{program}"));
    says(&directory, &["find", "program.c", "--races", "--schedules", "200"], NOTHING);
}

/// In virtual time: whoever waits is interrupted when it is time, and a loop without an end ends.
#[test]
fn timers_run_out_in_virtual_time() {
    // Whoever is late by two seconds may miss the alarm before it pauses: that needs a deviation, and is another test's.
    find_with(
        "timers",
        "\
#include <sys/time.h>
static volatile sig_atomic_t n;
static void on(int number) { n++; }
int main(void) {
    struct itimerval every = {{0, 100000}, {0, 100000}}, never;
    struct itimerspec once = {{0, 0}, {4, 0}};
    struct timespec ten = {10, 0}, rest;
    struct sigevent event;
    timer_t id;
    memset(&never, 0, sizeof never);
    handle(SIGALRM, on, SA_RESTART);
    alarm(2);
    assert(pause() == -1 && errno == EINTR && n == 1);
    alarm(3);
    assert(sleep(10) == 7 && n == 2);
    alarm(1);
    while (n < 3) { }
    setitimer(ITIMER_REAL, &every, 0);
    while (n < 6) pause();
    setitimer(ITIMER_REAL, &never, 0);
    memset(&event, 0, sizeof event);
    event.sigev_notify = SIGEV_SIGNAL;
    event.sigev_signo = SIGALRM;
    assert(timer_create(CLOCK_MONOTONIC, &event, &id) == 0);
    timer_settime(id, 0, &once, 0);
    assert(nanosleep(&ten, &rest) == -1 && errno == EINTR && rest.tv_sec == 6);
    assert(n == 7 && alarm(0) == 0);
    return 0;
}
",
        &["--deviations", "0"],
        NOTHING,
    );
}

#[test]
fn a_thread_that_spins_is_ended_by_an_alarm() {
    let out = find(
        "spins",
        "\
static volatile int stop;
static void on(int number) { stop = 1; }
static void *work(void *p) { while (!stop) sched_yield(); return p; }
int main(void) {
    pthread_t w;
    handle(SIGALRM, on, 0);
    alarm(1);
    pthread_create(&w, 0, work, 0);
    pthread_join(w, 0);
    return 0;
}
",
        NOTHING,
    );
    assert!(!out.contains("all 3 classes"), "when it comes is not explored: {out}");
}

#[test]
fn an_alarm_that_nobody_catches_ends_the_process() {
    let out = find("uncaught", "int main(void) { alarm(1); sleep(5); return 0; }\n", FINDING);
    assert!(out.contains("signal 14"), "{out}");
}
