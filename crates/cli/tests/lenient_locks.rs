//! What lies behind a misuse of mutexes that an ordinary system lets pass.

mod support;

use serde_json::Value;
use support::{FINDING, NOTHING, directory, says, write};

/// The main thread's mutex is given back by a worker, which POSIX leaves undefined; behind that, two workers count without a lock.
const HANDED_OVER: &str = "\
#include <assert.h>
#include <errno.h>
#include <pthread.h>
static pthread_mutex_t go = PTHREAD_MUTEX_INITIALIZER;
static int count;
static void *work(void *last) {
    int before = count;
    count = before + 1;
    if (last) pthread_mutex_unlock(&go);
    return 0;
}
int main(void) {
    pthread_t a, b;
    pthread_mutex_lock(&go);
    pthread_create(&a, 0, work, 0);
    pthread_create(&b, 0, work, &b);
    pthread_mutex_lock(&go);
    pthread_join(a, 0);
    pthread_join(b, 0);
    assert(pthread_mutex_destroy(&go) == EBUSY);
    pthread_mutex_unlock(&go);
    pthread_mutex_unlock(&go);
    assert(pthread_mutex_destroy(&go) == 0);
    assert(count == 2);
}
";

fn answer(text: &str) -> Value {
    serde_json::from_str(text.lines().last().unwrap_or_default()).expect("an answer in JSON")
}

#[test]
fn it_is_a_failure_that_says_how_to_look_behind_it() {
    let place = directory("lenient-locks-strict");
    write(&place, "handed.c", HANDED_OVER);
    let text = says(&place, &["explain", "handed.c", "-j", "1", "--repair-time", "0s"], FINDING);
    assert!(
        text.contains("sync-misuse: unlock of a mutex that another thread has locked"),
        "{text}"
    );
    assert!(text.contains("--lenient-locks"), "{text}");
}

#[test]
fn behind_it_stands_the_lost_update_and_its_trace_replays() {
    let place = directory("lenient-locks");
    write(&place, "handed.c", HANDED_OVER);
    let flags = ["--lenient-locks", "-j", "1"];
    let arguments =
        [&["explain", "handed.c", "--json", "--repair-time", "0s"], &flags[..]].concat();
    let explained = answer(&says(&place, &arguments, FINDING));
    let bugs = explained["bugs"].as_array().expect("bugs");
    assert_eq!(bugs.len(), 1, "{explained}");
    assert_eq!(bugs[0]["failure"]["at"]["line"], 24, "{explained}");
    assert_eq!(bugs[0]["diagnosis"]["status"]["kind"], "confirmed", "{explained}");
    assert_eq!(bugs[0]["diagnosis"]["root_cause"]["pattern"], "lost-update", "{explained}");
    let trace = bugs[0]["trace"].as_str().expect("a path");
    let replayed = answer(&says(&place, &["replay", trace, "--json"], FINDING));
    assert_eq!(replayed["same"], true, "{replayed}");
}

#[test]
fn nothing_is_called_complete_where_a_mutex_keeps_nobody_out() {
    let place = directory("lenient-locks-complete");
    write(
        &place,
        "mended.c",
        &HANDED_OVER.replace(
            "int before = count;\n    count = before + 1;",
            "__atomic_add_fetch(&count, 1, 5);",
        ),
    );
    let arguments =
        ["find", "mended.c", "--json", "--lenient-locks", "-j", "1", "--schedules", "3000"];
    let found = answer(&says(&place, &arguments, NOTHING));
    assert_ne!(found["stopped"], "exhausted", "{found}");
    let text = says(
        &place,
        &["find", "mended.c", "--lenient-locks", "-j", "1", "--schedules", "3000"],
        NOTHING,
    );
    assert!(text.contains("a mutex is unlocked by a thread that does not hold it"), "{text}");
    assert!(!text.contains("all classes"), "{text}");
}
