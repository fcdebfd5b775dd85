//! What a cause may name, and what never: ends of processes, timeouts, what was destroyed, who called; never data that only a
//! `printf` reads, nor an order that helps only because an update is lost.

mod support;

use serde_json::Value;
use support::{FINDING, directory, says, write};

const HEAD: &str = "#include <assert.h>\n#include <errno.h>\n#include <pthread.h>\n#include <stdatomic.h>\n\
    #include <stdio.h>\n#include <time.h>\n";

/// The root cause of the bug whose name contains `bug`; lines of the program count from 1 after the headers.
fn cause(test: &str, program: &str, bug: &str, flags: &[&str]) -> Value {
    let directory = directory(&format!("told-{test}"));
    write(&directory, "p.c", &format!("{HEAD}#line 1\n{program}"));
    write(&directory, "expected", "done\n");
    let mut arguments = vec!["explain", "p.c", "--json", "--repair-time=0s"];
    arguments.extend(flags);
    let said: Value = serde_json::from_str(&says(&directory, &arguments, FINDING)).expect("JSON");
    let bugs = said["bugs"].as_array().expect("bugs");
    let is_it = |found: &&Value| found["bug"].as_str().is_some_and(|name| name.contains(bug));
    let found = bugs.iter().find(is_it).unwrap_or_else(|| panic!("{bug}: {said:#}"));
    assert_eq!(found["diagnosis"]["status"]["kind"], "confirmed", "{found:#}");
    found["diagnosis"]["root_cause"].clone()
}

#[track_caller]
fn says_so(cause: &Value, pattern: &str, words: &[&str]) {
    assert_eq!(cause["pattern"], pattern, "{cause:#}");
    let text = format!("{} {}", cause["sentence"], cause["advice"]);
    for word in words {
        assert!(text.contains(word), "{word}: {text}");
    }
    assert!(!cause["evidence"].is_null(), "{cause:#}");
}

#[test]
fn the_end_of_the_process() {
    let program = "static int total;\n\
        static void *worker(void *a)\n{\n\
        total = 7;\n\
        printf(\"done\\n\");\n\
        fflush(stdout);\n\
        return a;\n}\n\
        int main(void)\n{\n\
        pthread_t t;\n\
        pthread_create(&t, 0, worker, 0);\n\
        pthread_detach(t);\n\
        return total > 99;\n}\n";
    let cause = cause("end", program, "output", &["--expect-output", "expected"]);
    says_so(&cause, "early-exit", &["main returns", "join T0.1 before main returns"]);
    assert_eq!(cause["evidence"]["kept"][0]["kind"], "outlived");
}

#[test]
fn a_wait_that_times_out() {
    let program = "static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;\n\
        static pthread_cond_t c = PTHREAD_COND_INITIALIZER;\n\
        static int ready, value;\n\
        static void *worker(void *a)\n{\n\
        pthread_mutex_lock(&m);\nvalue = 7;\nready = 1;\npthread_cond_signal(&c);\npthread_mutex_unlock(&m);\n\
        return a;\n}\n\
        int main(void)\n{\n\
        pthread_t t;\nstruct timespec ts;\nclock_gettime(CLOCK_REALTIME, &ts);\nts.tv_sec += 1;\n\
        pthread_create(&t, 0, worker, 0);\npthread_mutex_lock(&m);\n\
        while (!ready)\nif (pthread_cond_timedwait(&c, &m, &ts) == ETIMEDOUT)\nbreak;\n\
        int got = value;\npthread_mutex_unlock(&m);\nassert(got == 7);\npthread_join(t, 0);\nreturn 0;\n}\n";
    let cause = cause("timeout", program, "assertion", &[]);
    says_so(
        &cause,
        "timeout",
        &["the wait of T0 for c at p.c:22 times out", "T0.1 signals it at p.c:9"],
    );
    assert_eq!(cause["evidence"]["kept"][0]["kind"], "patient");
}

#[test]
fn what_is_destroyed_by_its_name_and_line() {
    let program = "static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;\n\
        static atomic_int done;\nstatic int n;\n\
        static void *worker(void *a)\n{\n\
        pthread_mutex_lock(&m);\nn++;\natomic_store(&done, 1);\npthread_mutex_unlock(&m);\n\
        pthread_mutex_lock(&m);\nn++;\npthread_mutex_unlock(&m);\nreturn a;\n}\n\
        int main(void)\n{\n\
        pthread_t t;\npthread_create(&t, 0, worker, 0);\n\
        while (!atomic_load(&done))\n;\n\
        pthread_mutex_destroy(&m);\n\
        pthread_join(t, 0);\nreturn 0;\n}\n";
    let cause = cause("destroyed", program, "sync-misuse", &[]);
    let text = format!("{} {}", cause["sentence"], cause["advice"]);
    assert!(text.contains("destroys m at p.c:21") && !text.contains("done"), "{text}");
}

#[test]
fn never_what_only_a_printf_reads() {
    let program = "static int progress, count;\n\
        static void *worker(void *a)\n{\n\
        progress = progress + 1;\n\
        int seen = count;\n\
        progress = progress + 1;\n\
        count = seen + 1;\n\
        progress = progress + 1;\n\
        printf(\"progress %d\\n\", progress);\n\
        return a;\n}\n\
        int main(void)\n{\n\
        pthread_t t[3];\n\
        for (int i = 0; i < 3; i++) pthread_create(&t[i], 0, worker, 0);\n\
        for (int i = 0; i < 3; i++) pthread_join(t[i], 0);\n\
        printf(\"progress %d\\n\", progress);\n\
        assert(count == 3);\nreturn 0;\n}\n";
    let cause = cause("printf", program, "assertion", &[]);
    says_so(&cause, "lost-update", &["count", "p.c:5 to p.c:7 should be atomic"]);
    assert!(!cause.to_string().contains("progress"), "{cause:#}");
}

#[test]
fn never_what_nobody_did() {
    // Line 6 stands before the check in a loop, and is reached only where the check did not fail.
    let program = "static int gate, other;\n\
        static void *looker(void *a)\n{\n\
        for (int i = 0; i < 3; i++) {\n\
        if (i > 1)\n\
        other = i;\n\
        assert(gate != 1 || i < 1);\n\
        }\nreturn a;\n}\n\
        static void *opener(void *a)\n{\n\
        gate = 1;\n\
        gate = 2;\n\
        return a;\n}\n\
        int main(void)\n{\n\
        pthread_t t[2];\npthread_create(&t[0], 0, looker, 0);\npthread_create(&t[1], 0, opener, 0);\n\
        pthread_join(t[0], 0);\npthread_join(t[1], 0);\nreturn other > 9;\n}\n";
    let cause = cause("undone", program, "assertion", &[]);
    let orders = cause["orders"].as_array().expect("orders");
    for order in orders {
        assert_ne!(order["object"], "other", "{cause:#}");
    }
    let text = format!("{} {}", cause["sentence"], cause["advice"]);
    assert!(!text.contains("p.c:6"), "{text}");
}

#[test]
fn who_called_where_one_function_serves_all() {
    let program = "static int balance;\n\
        static int get(void) { return balance; }\n\
        static void put(int n) { balance = n; }\n\
        static void *deposit(void *a)\n{\n\
        int seen = get();\n\
        put(seen + 1);\n\
        return a;\n}\n\
        int main(void)\n{\n\
        pthread_t t[2];\n\
        for (int i = 0; i < 2; i++) pthread_create(&t[i], 0, deposit, 0);\n\
        for (int i = 0; i < 2; i++) pthread_join(t[i], 0);\n\
        assert(get() == 2);\nreturn 0;\n}\n";
    let cause = cause("called", program, "assertion", &[]);
    says_so(
        &cause,
        "lost-update",
        &["reads balance (= 0) at p.c:2 (called at p.c:6)", "(in deposit: p.c:6 to p.c:7)"],
    );
    let called = &cause["orders"][0]["first"]["called"];
    assert_eq!(called["line"], 6, "the same line is called by main: {cause:#}");
}

#[test]
fn no_order_that_helps_only_because_an_update_is_lost() {
    let program = "static int here;\n\
        static void *guest(void *a)\n{\n\
        ++here;\n\
        if (here == 2)\n\
        assert(0);\n\
        return a;\n}\n\
        int main(void)\n{\n\
        pthread_t t[2];\n\
        for (int i = 0; i < 2; i++) pthread_create(&t[i], 0, guest, 0);\n\
        for (int i = 0; i < 2; i++) pthread_join(t[i], 0);\nreturn 0;\n}\n";
    let cause = cause("inverted", program, "assertion", &[]);
    says_so(&cause, "passes-by-lost-update", &["every update of here counts", "p.c:6"]);
    assert_eq!(cause["evidence"]["kind"], "unavoidable");
    assert!(!cause["advice"].as_str().unwrap_or_default().contains("wait for it"), "{cause:#}");
}

#[test]
fn a_stretch_that_ends_with_a_descriptor() {
    let program = include_str!("../../../corpus/sync/eventfd_drain/drain.c");
    let cause = cause("descriptor", program, "deadlock", &[]);
    says_so(&cause, "atomicity-violation", &["items", "p.c:29 to p.c:46 should be atomic"]);
}
