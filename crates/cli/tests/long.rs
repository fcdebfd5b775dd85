//! Long runs: what goes wrong at the end of thousands of events is explained as what it is, at its lines.

mod support;

use serde_json::Value;
use support::*;

const LOCKED: &str = "pthread_mutex_lock(&m); noise++; pthread_mutex_unlock(&m);";
const UNLOCKED: &str = "noise++;";

/// An update of `hits` that can be lost.
const LOST_UPDATE: (&str, &str) = ("int seen = hits;\n\thits = seen + 1;", "hits == 4");
/// A token that is taken by who has seen that it is there.
const CHECK_THEN_ACT: (&str, &str) =
    ("if (tokens > 0)\n\t__atomic_fetch_sub(&tokens, 1, __ATOMIC_SEQ_CST);", "tokens >= 0");
/// The same with a flag, which is written with a constant.
const FLAG: (&str, &str) = (
    "if (tokens == 1) {\n\ttokens = 0; __atomic_fetch_add(&hits, 1, __ATOMIC_SEQ_CST); }",
    "hits == 1",
);

/// Four threads with noise, then what they do in lines 15 and 16.
fn program(noise: &str, (bug, holds): (&str, &str)) -> String {
    format!(
        "#include <assert.h>\n#include <pthread.h>\n#include <stdlib.h>\n\
         static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;\n\
         static int noise;\nstatic int hits, tokens = 1;\nstatic int rounds;\n\
         static void *work(void *a)\n\
         {{\n\
         \tfor (int i = 0; i < rounds; i++) {{\n\
         \t\t{noise}\n\
         \t}}\n\
         \t(void)m;\n\
         \t/* not in one step */\n\
         \t{bug}\n\
         \treturn a;\n\
         }}\n\
         int main(int argc, char **argv)\n\
         {{\n\
         \tpthread_t t[4];\n\
         \trounds = argc > 1 ? atoi(argv[1]) : 1;\n\
         \tfor (int i = 0; i < 4; i++) pthread_create(&t[i], 0, work, 0);\n\
         \tfor (int i = 0; i < 4; i++) pthread_join(t[i], 0);\n\
         \tassert({holds});\n\
         \treturn 0;\n\
         }}\n"
    )
}

/// Three threads that do nothing else, in lines 5 and 6.
const ROUNDS: &str = "#include <assert.h>\n#include <pthread.h>\n#include <stdlib.h>\n\
    static int hits, rounds; static void *work(void *a) { for (int i = 0; i < rounds; i++) {\n\
    \tint seen = hits;\n\
    \thits = seen + 1; }\n\
    \treturn a; }\n\
    int main(int argc, char **argv)\n\
    {\n\
    \tpthread_t t[3];\n\
    \trounds = argc > 1 ? atoi(argv[1]) : 1;\n\
    \tfor (int i = 0; i < 3; i++) pthread_create(&t[i], 0, work, 0);\n\
    \tfor (int i = 0; i < 3; i++) pthread_join(t[i], 0);\n\
    \tassert(hits == 3 * rounds);\n\
    \treturn 0;\n\
    }\n";

#[track_caller]
fn is_explained(test: &str, program: &str, rounds: u32, pattern: &str, lines: (u32, u32)) {
    let directory = directory(&format!("long-{test}"));
    write(&directory, "p.c", program);
    let rounds = rounds.to_string();
    let text = says(
        &directory,
        &["explain", "p.c", "--json", "--repair-time", "0s", "--", &rounds],
        FINDING,
    );
    let report: Value = serde_json::from_str(&text).expect("JSON");
    let diagnosis = &report["bugs"][0]["diagnosis"];
    assert_eq!(diagnosis["status"]["kind"], "confirmed", "{diagnosis:#}");
    let cause = &diagnosis["root_cause"];
    assert_eq!(cause["pattern"], pattern, "{cause:#}");
    let kept = &cause["evidence"]["kept"][0];
    assert_eq!((&kept["from"]["line"], &kept["to"]["line"]), (&lines.0.into(), &lines.1.into()));
}

#[test]
fn after_a_thousand_events() {
    is_explained("locked-1", &program(LOCKED, LOST_UPDATE), 62, "lost-update", (15, 16));
}

#[test]
fn after_ten_thousand_events() {
    is_explained("locked-10", &program(LOCKED, LOST_UPDATE), 625, "lost-update", (15, 16));
    is_explained("unlocked-10", &program(UNLOCKED, LOST_UPDATE), 1250, "lost-update", (15, 16));
}

#[test]
fn after_a_hundred_thousand_events() {
    is_explained("locked-100", &program(LOCKED, LOST_UPDATE), 6250, "lost-update", (15, 16));
}

#[test]
fn a_check_is_no_update() {
    let pattern = "check-then-act";
    is_explained("check-10", &program(LOCKED, CHECK_THEN_ACT), 625, pattern, (15, 16));
    is_explained("check-unlocked-10", &program(UNLOCKED, CHECK_THEN_ACT), 1250, pattern, (15, 16));
    is_explained("check-100", &program(LOCKED, CHECK_THEN_ACT), 6250, pattern, (15, 16));
    is_explained("flag-10", &program(LOCKED, FLAG), 625, pattern, (15, 16));
}

#[test]
fn one_update_of_thousands_is_lost() {
    is_explained("rounds-100", ROUNDS, 100, "lost-update", (5, 6));
    is_explained("rounds-1000", ROUNDS, 1000, "lost-update", (5, 6));
    is_explained("rounds-5000", ROUNDS, 5000, "lost-update", (5, 6));
}

/// Two threads, one of which works for long in `churn`, called by `test_ring`.
const SLOW: &str = "#include <pthread.h>\n#include <stdlib.h>\n\
    static volatile long sum;\n\
    static long churn(long n) { long s = 0; for (long i = 0; i < n; i++) s += i ^ (s << 1); return s; }\n\
    static void test_ring(void) { for (int i = 0; i < 400; i++) sum += churn(2000); }\n\
    static void test_list(void) { for (int i = 0; i < 20; i++) sum += i; }\n\
    static void *work(void *a) { test_list(); return a; }\n\
    int main(void) { pthread_t t;\n\
    pthread_create(&t, 0, work, 0); test_ring(); pthread_join(t, 0); return 0; }\n";

/// What `run` says of the function that takes most of it.
#[track_caller]
fn busiest(test: &str, program: &str, engine: &str) -> Value {
    let directory = directory(&format!("long-busiest-{test}-{engine}"));
    write(&directory, "slow.c", program);
    let text = says(&directory, &["run", "slow.c", "--json", "--engine", engine], NOTHING);
    let run: Value = serde_json::from_str(&text).expect("JSON");
    run["busiest"].clone()
}

#[test]
fn a_long_run_says_which_function_takes_it() {
    for engine in ["interpret", "compiled"] {
        let busiest = busiest("one", SLOW, engine);
        assert_eq!((&busiest["function"], &busiest["at"]), (&"churn".into(), &"slow.c:4".into()));
        let (steps, of) = (busiest["steps"].as_u64(), busiest["of"].as_u64());
        assert!(steps > Some(1_000_000) && steps <= of, "{engine}: {busiest}");
    }
}

/// Who calls a function that takes all is not the one to look at, nor is one of several that take as much.
#[test]
fn what_several_functions_take_is_said_of_their_caller() {
    let other = "static long other(long n) { long s = 1; for (long i = 0; i < n; i++) s ^= i * 3; return s; }\n\
        static void test_ring(void)";
    let several = SLOW
        .replace("sum += churn(2000); }", "{ sum += churn(1000); sum += other(1000); } }")
        .replace("static void test_ring(void)", other);
    let busiest = busiest("several", &several, "compiled");
    assert_eq!((&busiest["function"], &busiest["at"]), (&"test_ring".into(), &"slow.c:6".into()));
}

#[test]
fn a_short_run_says_nothing() {
    let short = SLOW.replace("i < 400", "i < 2");
    assert_eq!(busiest("short", &short, "compiled"), Value::Null);
}

/// Three threads that go over a block, each with a lock all the time, or the last one without.
const BLOCK: &str = "#include <assert.h>\n#include <pthread.h>\n\
    enum { SIZE = 15000 };\n\
    static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;\n\
    static int block[SIZE];\n\
    static void add(void) { for (int i = 0; i < SIZE; i++) block[i]++; }\n\
    static void *work(void *a) { pthread_mutex_lock(&m); add(); pthread_mutex_unlock(&m); return a; }\n\
    static void *last(void *a) { LAST; return a; }\n\
    int main(void) { pthread_t t[3];\n\
    for (int i = 0; i < 3; i++) pthread_create(&t[i], 0, i < 2 ? work : last, 0);\n\
    for (int i = 0; i < 3; i++) pthread_join(t[i], 0);\n\
    for (int i = 0; i < SIZE; i++) assert(block[i] == 3);\n\
    return 0; }\n";

/// A search of so many schedules, as JSON.
fn found(directory: &std::path::Path, code: i32) -> Value {
    let arguments = ["find", "p.c", "--json", "--schedules", "250", "--jobs", "1"];
    serde_json::from_str(&says(directory, &arguments, code)).expect("JSON")
}

/// Orders of long stretches that a lock keeps apart are explored without a decision at each access, and that is no proof.
#[test]
fn what_a_lock_orders_is_not_looked_at_access_by_access() {
    let directory = directory("long-block");
    write(&directory, "p.c", &BLOCK.replace("LAST", "work(a)"));
    let search = found(&directory, NOTHING);
    assert!(search["most_events"].as_u64() > Some(80_000), "{search:#}");
    let exhaustive = &search["systematic"][0];
    assert_eq!(
        exhaustive["classes"], 6,
        "three threads take the lock in any order: {exhaustive:#}"
    );
    assert_eq!(exhaustive["complete"], false, "{exhaustive:#}");
    let left_out = exhaustive["left_out"].to_string();
    assert!(left_out.contains("runs of more than 50000 events"), "{left_out}");
}

#[test]
fn what_nothing_orders_is_looked_at_in_long_runs_too() {
    let directory = directory("long-race");
    write(
        &directory,
        "p.c",
        &BLOCK.replace("LAST", "(void)a; int n = block[9]; block[9] = n + 1; add(); block[9]--"),
    );
    let search = found(&directory, FINDING);
    assert_eq!(search["findings"][0]["run"]["outcome"]["kind"], "assertion", "{search:#}");
    assert_eq!(search["findings"][0]["replayed"], true);
}
