//! What `explain` advises, on a small program a kind of bug: the region or the order that a repair has to bring about.

mod support;

use serde_json::Value;
use support::{FINDING, directory, says, write};

const HEAD: &str = "#include <assert.h>\n#include <pthread.h>\n#include <stdlib.h>\n\
    static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER, n = PTHREAD_MUTEX_INITIALIZER;\n\
    static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;\n";

/// Two threads that do this, and main, which says what comes before and after them.
fn program(shared: &str, first: &str, second: &str, before: &str, after: &str) -> String {
    format!(
        "{HEAD}{shared}\nstatic void *first(void *arg)\n{{\n{first}\nreturn arg;\n}}\n\
         static void *second(void *arg)\n{{\n{second}\nreturn arg;\n}}\n\
         int main(void)\n{{\npthread_t a, b;\n{before}\n\
         pthread_create(&a, NULL, first, NULL);\npthread_create(&b, NULL, second, NULL);\n{after}\n\
         pthread_join(a, NULL);\npthread_join(b, NULL);\nreturn 0;\n}}\n"
    )
}

/// The root cause that `explain` tells of the first bug.
fn cause(test: &str, text: &str) -> (String, String) {
    let directory = directory(&format!("advice-{test}"));
    write(&directory, "bug.c", text);
    let said = says(&directory, &["explain", "bug.c", "--json", "--repair-time=0s"], FINDING);
    let said: Value = serde_json::from_str(&said).expect("JSON");
    let cause = &said["bugs"][0]["diagnosis"]["root_cause"];
    let text = |name: &str| cause[name].as_str().unwrap_or_default().to_owned();
    (text("pattern"), text("advice"))
}

#[test]
fn two_who_free_the_same_are_in_one_region_at_once() {
    let release = "if (buffer) {\nfree(buffer);\nbuffer = NULL;\n}";
    let text = program("static char *buffer;", release, release, "buffer = malloc(8);", "");
    let (pattern, advice) = cause("overlap", &text);
    assert_eq!(pattern, "double-free");
    assert!(advice.contains("should be atomic"), "{advice}");
}

#[test]
fn a_check_that_others_make_stale_has_to_stay_with_its_use() {
    let take = "pthread_mutex_lock(&m);\nint some = left > 0;\npthread_mutex_unlock(&m);\n\
                if (some) {\npthread_mutex_lock(&m);\nassert(left > 0);\nleft--;\npthread_mutex_unlock(&m);\n}";
    let text = program("static int left = 1;", take, take, "", "");
    let (pattern, advice) = cause("stale", &text);
    assert_eq!(pattern, "check-then-act");
    assert!(advice.contains("should be atomic with respect to"), "{advice}");
}

#[test]
fn locks_taken_crosswise_are_to_be_taken_in_one_order() {
    let lock = |a: &str, b: &str| {
        format!(
            "pthread_mutex_lock(&{a});\npthread_mutex_lock(&{b});\npthread_mutex_unlock(&{b});\npthread_mutex_unlock(&{a});"
        )
    };
    let text = program("", &lock("m", "n"), &lock("n", "m"), "", "");
    let (pattern, advice) = cause("crosswise", &text);
    assert_eq!(pattern, "deadlock");
    assert_eq!(advice, "let all threads take these in the same order: m, n");
}

#[test]
fn one_signal_for_two_who_wait_is_no_matter_of_lock_order() {
    let wait = "pthread_mutex_lock(&m);\nwhile (!go)\npthread_cond_wait(&cond, &m);\npthread_mutex_unlock(&m);";
    let start =
        "pthread_mutex_lock(&m);\ngo = 1;\npthread_cond_signal(&cond);\npthread_mutex_unlock(&m);";
    let text = program("static int go;", wait, wait, "", start);
    let (pattern, advice) = cause("signal", &text);
    assert_eq!(pattern, "missing-signal");
    assert!(advice.contains("broadcast"), "{advice}");
}

#[test]
fn a_search_that_hardly_began_advises_nothing() {
    let add = "int seen = sum;\nsum = seen + 1;";
    let text = program("static int sum;", add, add, "", "")
        .replace("return 0;", "assert(sum == 2);\nreturn 0;");
    let directory = directory("advice-hurried");
    write(&directory, "bug.c", &text);
    let arguments = ["explain", "bug.c", "--diagnose-time", "0ms", "--repair-time", "0s", "--json"];
    let said: Value = serde_json::from_str(&says(&directory, &arguments, FINDING)).expect("JSON");
    let cause = &said["bugs"][0]["diagnosis"]["root_cause"];
    assert!(cause.is_null() || cause["advice"] == "", "{cause}");
}

/// Two waiters for one item, who look again after each wait; the failure is the lost update of `sum`.
#[test]
fn who_looks_again_has_missed_nothing() {
    let take = "pthread_mutex_lock(&m);\nwhile (items == 0)\npthread_cond_wait(&cond, &m);\nitems--;\npthread_mutex_unlock(&m);\n\
                int seen = sum;\nsum = seen + 1;";
    let give = "for (int i = 0; i < 2; i++) {\npthread_mutex_lock(&m);\nitems++;\npthread_cond_broadcast(&cond);\n\
                pthread_mutex_unlock(&m);\n}";
    let text = program("static int items, sum;", take, take, "", give)
        .replace("return 0;", "assert(sum == 2);\nreturn 0;");
    let (pattern, _) = cause("looks-again", &text);
    assert_eq!(pattern, "lost-update");
}

#[test]
fn who_does_not_look_again_has() {
    let take = "pthread_mutex_lock(&m);\nif (items == 0)\npthread_cond_wait(&cond, &m);\nassert(items > 0);\nitems--;\n\
                pthread_mutex_unlock(&m);";
    let give = "for (int i = 0; i < 2; i++) {\npthread_mutex_lock(&m);\nitems++;\npthread_cond_broadcast(&cond);\n\
                pthread_mutex_unlock(&m);\n}";
    let text = program("static int items;", take, take, "", give);
    let (pattern, advice) = cause("looks-once", &text);
    assert_eq!(pattern, "missed-recheck");
    assert!(advice.contains("`while` instead of `if`"), "{advice}");
}
