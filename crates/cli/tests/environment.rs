//! What the environment may do: time in order, deviations by bound, exit codes, memory that nobody has written.

mod support;

use serde_json::Value;
use std::path::Path;
use support::*;

const HEAD: &str = "#include <assert.h>\n#include <errno.h>\n#include <pthread.h>\n#include <stdatomic.h>\n\
    #include <stdlib.h>\n#include <threads.h>\n#include <time.h>\n#include <unistd.h>\n\
    static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;\n\
    static pthread_cond_t c = PTHREAD_COND_INITIALIZER;\n\
    static struct timespec after(long ms) { struct timespec t; clock_gettime(CLOCK_REALTIME, &t); t.tv_nsec += ms * 1000000;\n\
    t.tv_sec += t.tv_nsec / 1000000000; t.tv_nsec %= 1000000000; return t; }\n";

/// What `find` says of a program, as JSON.
fn found(test: &str, program: &str, flags: &[&str], code: i32) -> Value {
    let directory = directory(&format!("environment-{test}"));
    write(&directory, "p.c", &format!("{HEAD}{program}"));
    find(&directory, flags, code)
}

fn find(directory: &Path, flags: &[&str], code: i32) -> Value {
    let jobs: &[&str] = if flags.contains(&"--jobs") { &[] } else { &["--jobs", "1"] };
    let arguments = [&["find", "p.c", "--json"], jobs, flags].concat();
    let text = says(directory, &arguments, code);
    serde_json::from_str(&text).expect("JSON")
}

/// The kinds of deviations that the first finding needs.
fn needs(found: &Value) -> Vec<&str> {
    let all = found["findings"][0]["run"]["deviations"].as_array().expect("a list");
    all.iter().map(|one| one["kind"].as_str().expect("a kind")).collect()
}

fn kind(found: &Value) -> &str {
    found["findings"][0]["run"]["outcome"]["kind"].as_str().expect("a kind")
}

/// By bound: the classes, and whether these are all.
fn bounds(found: &Value) -> Vec<(u64, bool)> {
    let parts = found["systematic"].as_array().expect("a list");
    let exhaustive = parts.iter().filter(|part| part["method"] == "exhaustive");
    exhaustive
        .map(|part| (part["classes"].as_u64().unwrap(), part["complete"].as_bool().unwrap()))
        .collect()
}

/// A wait of 10 ms against a sleep of 250 ms.
const SLEEPER: &str = "static int done;\n\
    static void *late(void *a) { usleep(250000); pthread_mutex_lock(&m); done = 1; pthread_cond_signal(&c);\n\
    pthread_mutex_unlock(&m); return a; }\n\
    int main(void) { pthread_t t; struct timespec end = after(10); pthread_create(&t, 0, late, 0);\n\
    pthread_mutex_lock(&m); int r = 0; while (!done && r == 0) r = pthread_cond_timedwait(&c, &m, &end);\n\
    assert(r == ETIMEDOUT); pthread_mutex_unlock(&m); pthread_join(t, 0); return 0; }\n";

#[test]
fn the_earliest_deadline_comes_first() {
    found("deadlines", SLEEPER, &["--deviations", "0"], NOTHING);
    let late = found("deadlines-late", SLEEPER, &[], FINDING);
    assert_eq!(needs(&late), ["stall"], "{late:#}");
    for strategy in ["run-to-block", "round-robin", "random", "pct", "pos", "uniform", "bounded"] {
        let flags = ["--deviations", "0", "--strategy", strategy, "--schedules", "200"];
        found(&format!("deadlines-{strategy}"), SLEEPER, &flags, NOTHING);
    }
}

#[test]
fn who_waits_by_looking_at_the_clock_comes_to_an_end() {
    let spin = "static void *w(void *a) { time_t end = time(0) + 3; while (time(0) < end) ; return a; }\n\
        int main(void) { pthread_t t; pthread_create(&t, 0, w, 0); struct timespec end = after(700), now = after(0);\n\
        while (now.tv_sec < end.tv_sec || (now.tv_sec == end.tv_sec && now.tv_nsec < end.tv_nsec)) now = after(0);\n\
        pthread_join(t, 0); return 0; }\n";
    found("looking", spin, &["--schedules", "200"], NOTHING);
}

#[test]
fn work_takes_time_after_all() {
    let worker = "static atomic_int stop, n;\n\
        static void *w(void *a) { while (!stop) n++; return a; }\n\
        int main(void) { pthread_t t; pthread_create(&t, 0, w, 0); sleep(1); stop = 1; pthread_join(t, 0); return 0; }\n";
    let all = found("work", worker, &["--schedules", "100"], NOTHING);
    assert_eq!(all["inconclusive"], 0, "{all:#}");
}

#[test]
fn a_loop_that_polls_in_vain_is_a_livelock() {
    let polls = "static volatile int ready; static void *w(void *a) { return a; }\n\
        int main(void) { pthread_t t; pthread_create(&t, 0, w, 0); while (!ready) usleep(1000);\n\
        pthread_join(t, 0); return 0; }\n";
    assert_eq!(kind(&found("polls", polls, &[], FINDING)), "livelock");
}

/// A connection is handed to a waiter that gives up just then.
fn pool(keeps: &str) -> String {
    format!(
        "static int spare, waiting, handed, got;\n\
         static void *waiter(void *a) {{ struct timespec end = after(1000); pthread_mutex_lock(&m);\n\
         if (spare) {{ spare--; got = 1; }} else {{ waiting = 1; int r = 0;\n\
         while (!handed && r == 0) r = pthread_cond_timedwait(&c, &m, &end);\n\
         waiting = 0; if ({keeps}) {{ got = 1; handed = 0; }} }}\n\
         pthread_mutex_unlock(&m); return a; }}\n\
         int main(void) {{ pthread_t t; pthread_create(&t, 0, waiter, 0); pthread_mutex_lock(&m);\n\
         if (waiting) {{ handed = 1; pthread_cond_signal(&c); }} else spare++;\n\
         pthread_mutex_unlock(&m); pthread_join(t, 0); assert(got + spare == 1); return 0; }}\n"
    )
}

#[test]
fn a_timeout_comes_just_as_the_signal_does() {
    found("pool-plain", &pool("r == 0"), &["--deviations", "0"], NOTHING);
    let lost = found("pool", &pool("r == 0"), &[], FINDING);
    assert_eq!(needs(&lost), ["early-timeout"], "{lost:#}");
    let right = found("pool-right", &pool("handed"), &[], NOTHING);
    let bounds = bounds(&right);
    assert!(bounds.len() > 1 && bounds.iter().all(|(_, complete)| *complete), "{right:#}");
    assert!(bounds.is_sorted(), "each bound has the classes of the one before: {bounds:?}");
    // What a failure needs is kept with it: it fails again by itself, wherever it is replayed.
    let directory = directory("environment-pool-replay");
    write(&directory, "p.c", &format!("{HEAD}{}", pool("r == 0")));
    find(&directory, &[], FINDING);
    let text = says(&directory, &["replay", "unravel-out/p-assertion-1.trace"], FINDING);
    assert!(text.contains("to time out just then"), "{text}");
    let text = says(&directory, &["find", "p.c"], FINDING);
    assert!(text.contains("needs the wait of T0.1 at p.c:"), "{text}");
}

#[test]
fn all_timed_waits_may_time_out_early() {
    let lock = "static int locked = 1;\n\
        static void *w(void *a) { struct timespec end = after(1000); if (pthread_mutex_timedlock(&m, &end) == 0)\n\
        pthread_mutex_unlock(&m); else locked = 0; return a; }\n\
        int main(void) { pthread_t t; pthread_create(&t, 0, w, 0); pthread_mutex_lock(&m); pthread_mutex_unlock(&m);\n\
        pthread_join(t, 0); assert(locked); return 0; }\n";
    assert_eq!(needs(&found("timedlock", lock, &[], FINDING)), ["early-timeout"]);
    let semaphore = "#include <semaphore.h>\nstatic sem_t s; static int came = 1;\n\
        static void *w(void *a) { struct timespec end = after(1000); if (sem_timedwait(&s, &end)) came = 0; return a; }\n\
        int main(void) { pthread_t t; sem_init(&s, 0, 0); pthread_create(&t, 0, w, 0); sem_post(&s);\n\
        pthread_join(t, 0); assert(came); return 0; }\n";
    assert_eq!(needs(&found("semaphore", semaphore, &[], FINDING)), ["early-timeout"]);
    let shared = "static pthread_rwlock_t l = PTHREAD_RWLOCK_INITIALIZER; static int shared = 1;\n\
        static void *w(void *a) { struct timespec end = after(1000); if (pthread_rwlock_timedrdlock(&l, &end)) shared = 0;\n\
        else pthread_rwlock_unlock(&l); return a; }\n\
        int main(void) { pthread_t t; pthread_create(&t, 0, w, 0); pthread_rwlock_wrlock(&l); pthread_rwlock_unlock(&l);\n\
        pthread_join(t, 0); assert(shared); return 0; }\n";
    assert_eq!(needs(&found("rwlock", shared, &[], FINDING)), ["early-timeout"]);
    let join = "static void *w(void *a) { pthread_mutex_lock(&m); pthread_mutex_unlock(&m); return a; }\n\
        int main(void) { pthread_t t; pthread_create(&t, 0, w, 0); struct timespec end = after(1000);\n\
        int r = pthread_timedjoin_np(t, 0, &end); assert(r == 0); return 0; }\n";
    let join =
        format!("int pthread_timedjoin_np(pthread_t, void **, const struct timespec *);\n{join}");
    assert_eq!(needs(&found("timedjoin", &join, &[], FINDING)), ["early-timeout"]);
}

#[test]
fn a_wait_may_wake_without_a_signal() {
    let once = |test: &str| {
        format!(
            "static int ready; static void *w(void *a) {{ pthread_mutex_lock(&m); ready = 1; pthread_cond_signal(&c);\n\
             pthread_mutex_unlock(&m); return a; }}\n\
             int main(void) {{ pthread_t t; pthread_create(&t, 0, w, 0); pthread_mutex_lock(&m);\n\
             {test} (!ready) pthread_cond_wait(&c, &m); assert(ready); pthread_mutex_unlock(&m);\n\
             pthread_join(t, 0); return 0; }}\n"
        )
    };
    let woken = found("spurious", &once("if"), &[], FINDING);
    assert_eq!(needs(&woken), ["spurious-wakeup"], "{woken:#}");
    found("spurious-plain", &once("if"), &["--deviations", "0"], NOTHING);
    found("spurious-right", &once("while"), &[], NOTHING);
}

#[test]
fn weak_exchanges_and_try_locks_may_fail() {
    let exchange = |how: &str| {
        format!(
            "static atomic_int x; static void *w(void *a) {{ int zero = 0; atomic_compare_exchange_{how}(&x, &zero, 1);\n\
             return a; }}\n\
             int main(void) {{ pthread_t t; pthread_create(&t, 0, w, 0); pthread_join(t, 0); assert(x == 1); return 0; }}\n"
        )
    };
    assert_eq!(needs(&found("weak", &exchange("weak"), &[], FINDING)), ["weak-cas"]);
    found("strong", &exchange("strong"), &[], NOTHING);
    let lock = |how: &str, init: &str| {
        format!(
            "static mtx_t l; static int ok; static int w(void *a) {{ (void)a; ok = {how} == 0; return 0; }}\n\
             int main(void) {{ thrd_t t; {init} thrd_create(&t, w, 0); thrd_join(t, 0); assert(ok); return 0; }}\n"
        )
    };
    let c11 = lock("mtx_trylock(&l)", "mtx_init(&l, mtx_plain);");
    assert_eq!(needs(&found("trylock", &c11, &[], FINDING)), ["try-lock"]);
    found("posix-trylock", &lock("pthread_mutex_trylock(&m)", ""), &[], NOTHING);
}

#[test]
fn allocations_fail_on_request() {
    let careless = "static void *w(void *a) { int *p = malloc(4); *p = 1; free(p); return a; }\n\
        int main(void) { pthread_t t; pthread_create(&t, 0, w, 0); pthread_join(t, 0); return 0; }\n";
    found("malloc", careless, &[], NOTHING);
    let fails = found("malloc-fails", careless, &["--malloc-fails", "1"], FINDING);
    assert_eq!((kind(&fails), needs(&fails)), ("null-dereference", vec!["malloc"]));
    // Also before there are threads, and where there are none, and whoever searches.
    for (test, create) in
        [("early", "pthread_create(&t, 0, w, 0); pthread_join(t, 0);"), ("alone", "(void)t;")]
    {
        let early = format!(
            "static void *w(void *a) {{ return a; }} int main(void) {{ pthread_t t; int *p = malloc(4); *p = 1;\n\
             free(p); (void)w; {create} return 0; }}\n"
        );
        for strategy in ["portfolio", "exhaustive"] {
            let flags = ["--malloc-fails", "1", "--strategy", strategy];
            let found = found(&format!("malloc-{test}-{strategy}"), &early, &flags, FINDING);
            assert_eq!(needs(&found), ["malloc"], "{found:#}");
        }
    }
}

/// Two threads lose an update now and then, and the program says so by its exit code.
const LOSES: &str = "static int x; static void *w(void *a) { int t = x; x = t + 1; return a; }\n\
    int main(void) { pthread_t a, b; pthread_create(&a, 0, w, 0); pthread_create(&b, 0, w, 0);\n\
    pthread_join(a, 0); pthread_join(b, 0); return x == 2 ? 0 : 3; }\n";

#[test]
fn exit_codes_that_differ_are_a_finding() {
    let directory = directory("environment-exits");
    write(&directory, "p.c", &format!("{HEAD}{LOSES}"));
    for jobs in ["1", "2"] {
        let found = find(&directory, &["--jobs", jobs], FINDING);
        assert_eq!(kind(&found), "exit-code", "{found:#}");
        assert_eq!(found["findings"][0]["replayed"], true);
    }
    let text = says(&directory, &["find", "p.c"], FINDING);
    assert!(!text.contains("in all schedules"), "{text}");
    // The rule is in the trace.
    let text = says(&directory, &["replay", "unravel-out/p-exit-code-1.trace"], FINDING);
    assert!(text.contains("exited with code 3"), "{text}");
    let text = says(&directory, &["diagnose", "unravel-out/p-exit-code-1.trace"], FINDING);
    assert!(text.contains("p.c:"), "{text}");
    let text = says(&directory, &["explain", "p.c", "--repair-time", "0s"], FINDING);
    assert!(text.contains("exit-code"), "{text}");
    // Who judges runs otherwise means it.
    says(&directory, &["find", "p.c", "--check", "true", "--schedules", "50"], NOTHING);
    let found = find(&directory, &["--strategy", "exhaustive"], FINDING);
    assert_eq!(kind(&found), "exit-code", "{found:#}");
}

#[test]
fn an_exit_code_that_is_always_the_same_is_said() {
    let always = "static void *w(void *a) { return a; }\n\
        int main(void) { pthread_t t; pthread_create(&t, 0, w, 0); pthread_join(t, 0); return 5; }\n";
    let directory = directory("environment-always");
    write(&directory, "p.c", &format!("{HEAD}{always}"));
    let text = says(&directory, &["find", "p.c"], NOTHING);
    assert!(text.contains("the exit code is 5 in all schedules that end"), "{text}");
    says(&directory, &["find", "p.c", "--fail-on-exit"], FINDING);
}

#[test]
fn parts_of_a_search_agree_on_exit_codes() {
    let directory = directory("environment-parts");
    write(&directory, "p.c", &format!("{HEAD}{LOSES}"));
    for part in ["1/2", "2/2"] {
        let arguments = [
            "find",
            "p.c",
            "--shard",
            part,
            "--schedules",
            "200",
            "--strategy",
            "random",
            "--out",
            "parts",
        ];
        let code = unravel(&directory, &arguments).output().expect("runs").status.code();
        assert!(matches!(code, Some(NOTHING | FINDING)));
    }
    let text = says(&directory, &["merge-findings", "parts"], FINDING);
    assert!(text.contains("exit-code"), "{text}");
}

#[test]
fn output_that_differs_is_counted() {
    let prints = "#include <stdio.h>\nstatic void *w(void *a) { puts(a); return 0; }\n\
        int main(void) { pthread_t a, b; pthread_create(&a, 0, w, \"a\"); pthread_create(&b, 0, w, \"b\");\n\
        pthread_join(a, 0); pthread_join(b, 0); return 0; }\n";
    let found = found("output", prints, &["--schedules", "300"], NOTHING);
    assert_eq!(found["outputs"], 2, "{found:#}");
}

#[test]
fn memory_that_nobody_has_written_is_not_zero() {
    let heap = "static int *p; static void *w(void *a) { assert(*p == 0); return a; }\n\
        int main(void) { pthread_t t; p = malloc(sizeof *p); pthread_create(&t, 0, w, 0); pthread_join(t, 0); return 0; }\n";
    assert_eq!(kind(&found("heap", heap, &[], FINDING)), "assertion");
    assert_eq!(kind(&found("heap-uninit", heap, &["--uninit"], FINDING)), "uninitialised");
    let local = "static void set(int *x, int to) { if (to) *x = 0; } static int f(int to) { int x; set(&x, to); return x; }\n\
        static void *w(void *a) { assert(f(a != 0) == 0); return a; }\n\
        int main(void) { pthread_t t; pthread_create(&t, 0, w, 0); pthread_join(t, 0); return 0; }\n";
    assert_eq!(kind(&found("local", local, &[], FINDING)), "assertion");
    assert_eq!(kind(&found("local-uninit", local, &["--uninit"], FINDING)), "uninitialised");
    // A variable whose address nobody takes.
    let promoted = "static void *w(void *a) { int x; if (a) x = 1; return (void *)(long)(x != 3); }\n\
        int main(void) { pthread_t t; pthread_create(&t, 0, w, 0); pthread_join(t, 0); return 0; }\n";
    found("promoted", promoted, &[], NOTHING);
    assert_eq!(kind(&found("promoted-uninit", promoted, &["--uninit"], FINDING)), "uninitialised");
    // Zeroed, written and masked memory is fine.
    let fine = "struct bits { unsigned a : 3, b : 5; int rest; }; static void *w(void *p) { struct bits *b = p; b->a = 1; b->b = 2;\n\
        b->rest = b->a + b->b; int *z = calloc(4, 4); assert(z[3] == 0); free(z); return 0; }\n\
        int main(void) { pthread_t t; struct bits *b = malloc(sizeof *b); pthread_create(&t, 0, w, b); pthread_join(t, 0);\n\
        assert(b->rest == 3); free(b); return 0; }\n";
    found("fine", fine, &["--uninit"], NOTHING);
    // So are padding, arguments, arrays that are filled, and what a library function writes.
    let passed = "#include <stdarg.h>\nstruct p { int a; char b; }; static int f(struct p p) { return p.a + p.b; }\n\
        static int sum(int n, ...) { va_list l; int s = 0; va_start(l, n); while (n--) s += va_arg(l, int); va_end(l); return s; }\n\
        static void *w(void *a) { struct p p; char text[32]; int many[8], n; (void)a; p.a = 1; p.b = 2;\n\
        snprintf(text, sizeof text, \"%d\", f(p)); sscanf(text, \"%d\", &n); for (int i = 0; i < 8; i++) many[i] = n;\n\
        assert(sum(3, many[0], many[7], n) == 9 && text[0] == '3'); return 0; }\n\
        int main(void) { pthread_t t; pthread_create(&t, 0, w, 0); pthread_join(t, 0); return 0; }\n";
    found("passed", passed, &["--uninit"], NOTHING);
}

#[test]
fn a_handle_of_a_thread_is_an_address() {
    let hashes = "static int slots[8]; static void *w(void *a) { int h = (int)pthread_self(); assert(h % 31 >= 0);\n\
        slots[h % 31 & 7]++; return a; }\n\
        int main(void) { pthread_t t; pthread_create(&t, 0, w, 0); pthread_join(t, 0); return 0; }\n";
    assert_eq!(kind(&found("handles", hashes, &[], FINDING)), "assertion");
}

#[test]
fn nothing_found_says_what_was_not_looked_at() {
    let racy = "static int x; static void *w(void *a) { x = 1; return a; }\n\
        int main(void) { pthread_t t; pthread_create(&t, 0, w, 0); x = 1; pthread_join(t, 0); return 0; }\n";
    let directory = directory("environment-nothing");
    write(&directory, "p.c", &format!("{HEAD}{racy}"));
    let text = says(&directory, &["find", "p.c"], NOTHING);
    assert!(text.contains("there is a data-race at p.c:"), "{text}");
    assert!(text.contains("not looked at: weaker memory"), "{text}");
}

#[test]
fn one_endless_schedule_does_not_take_all_the_time() {
    // Most schedules never end; one in a few fails within a hundred steps.
    let endless = "static atomic_int x, turn; static void *w(void *a) { for (int i = 0; i < 3; i++) x++; return a; }\n\
        int main(void) { pthread_t t; pthread_create(&t, 0, w, 0); int seen = x; pthread_join(t, 0);\n\
        assert(seen != 2); for (unsigned i = 0; ; i++) turn = i; }\n";
    let found = found("endless", endless, &["--time", "20s"], FINDING);
    assert_eq!(kind(&found), "assertion");
}

const TIMERS: &str = "#include <signal.h>\n#include <sys/time.h>\n";

#[test]
fn a_watchdog_that_nobody_waits_for_accuses_nobody() {
    // Longer than any patience with work that takes no time.
    let busy = "static atomic_int x; static void *w(void *a) { for (int i = 0; i < 20000; i++) x++; return a; }\n\
        int main(void) { pthread_t t; alarm(60); pthread_create(&t, 0, w, 0); pthread_join(t, 0); return 0; }\n";
    let found = found("watchdog", busy, &["--schedules", "20", "--time", "20s"], 0);
    assert!(found["findings"].as_array().is_some_and(Vec::is_empty), "{found:#}");
}

#[test]
fn a_watchdog_ends_who_waits_for_ever() {
    let stuck = "int main(void) { alarm(1); pause(); return 0; }\n";
    let found = found("watchdog-stuck", stuck, &["--time", "5s"], FINDING);
    assert_eq!(kind(&found), "abort");
}

#[test]
fn a_timer_whose_signal_everybody_blocks_is_no_end() {
    let blocked = format!(
        "{TIMERS}int main(void) {{ sigset_t s; sigemptyset(&s); sigaddset(&s, SIGALRM); sigprocmask(SIG_BLOCK, &s, 0);\n\
        struct itimerval i = {{ {{ 0, 1000 }}, {{ 0, 1000 }} }}; setitimer(ITIMER_REAL, &i, 0);\n\
        pthread_mutex_lock(&m); pthread_mutex_lock(&m); return 0; }}\n"
    );
    let found = found("blocked-timer", &blocked, &["--time", "5s"], FINDING);
    assert_eq!(kind(&found), "deadlock");
}

#[test]
fn handlers_share_memory_with_those_they_interrupt() {
    // Nothing of it is atomic, and there is no other thread.
    let plain = format!(
        "{TIMERS}static volatile int a, b; static volatile sig_atomic_t rang;\n\
        static void h(int n) {{ (void)n; assert(a == b); rang = 1; }}\n\
        int main(void) {{ struct itimerval i = {{ .it_value = {{ 0, 30000 }} }}; signal(SIGALRM, h);\n\
        setitimer(ITIMER_REAL, &i, 0); a = 1; b = 1; while (!rang) usleep(50000); return 0; }}\n"
    );
    let found = found("handler-shares", &plain, &["--time", "20s"], FINDING);
    assert_eq!(kind(&found), "assertion");
    assert_eq!(needs(&found), ["stall"]);
}
