//! What `explain --races` says of a race: both accesses, the locks that their threads hold, the lock that others hold, and what should hold.

mod support;

use serde_json::Value;
use support::{FINDING, directory, says, write};

const HEAD: &str = "#include <pthread.h>\n#include <stdatomic.h>\n#include <stdlib.h>\n\
    static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER, n = PTHREAD_MUTEX_INITIALIZER;\n\
    static pthread_rwlock_t rw = PTHREAD_RWLOCK_INITIALIZER;\n";

/// A thread that does `first`, one that does `second`, and main, which does `between` before it joins them. What is said of the first race.
fn told(test: &str, shared: &str, first: &str, second: &str, between: &str) -> Value {
    let directory = directory(&format!("told-races-{test}"));
    let text = format!(
        "{HEAD}{shared}\nstatic void *first(void *arg)\n{{\n{first}\nreturn arg;\n}}\n\
         static void *second(void *arg)\n{{\n{second}\nreturn arg;\n}}\n\
         int main(void)\n{{\npthread_t a, b;\n\
         pthread_create(&a, NULL, first, NULL);\npthread_create(&b, NULL, second, NULL);\n{between}\n\
         pthread_join(a, NULL);\npthread_join(b, NULL);\nreturn 0;\n}}\n"
    );
    write(&directory, "race.c", &text);
    let options = ["explain", "race.c", "--races", "--json", "--repair-time=0s"];
    let said: Value = serde_json::from_str(&says(&directory, &options, FINDING)).expect("JSON");
    let diagnosis = said["bugs"][0]["diagnosis"].clone();
    assert_eq!(diagnosis["status"]["kind"], "confirmed", "{said}");
    assert_eq!(diagnosis["root_cause"]["pattern"], "data-race", "{said}");
    assert_eq!(diagnosis["root_cause"]["evidence"]["kind"], "shown");
    diagnosis
}

fn advice(diagnosis: &Value) -> &str {
    diagnosis["root_cause"]["advice"].as_str().unwrap_or_default()
}

/// The names of the locks that each access holds.
fn locks(diagnosis: &Value) -> Vec<Vec<&str>> {
    let accesses = diagnosis["race"]["accesses"].as_array().expect("two accesses");
    assert_eq!(accesses.len(), 2);
    accesses
        .iter()
        .map(|access| {
            assert!(!access["stack"].as_array().expect("a list").is_empty(), "{access}");
            let holds = access["holds"].as_array().expect("a list");
            holds.iter().filter_map(|lock| lock["name"].as_str()).collect()
        })
        .collect()
}

#[test]
fn who_lacks_the_lock_that_others_hold_is_told_to_hold_it() {
    let locked = "pthread_mutex_lock(&m);\nx++;\npthread_mutex_unlock(&m);";
    let said = told("lacking", "static int x;", locked, "x = 7;", "");
    assert_eq!(said["race"]["object"], "x");
    let mut held = locks(&said);
    held.sort();
    assert_eq!(held, [vec![], vec!["m"]]);
    assert_eq!(said["race"]["guard"]["lock"], "m");
    assert_eq!(advice(&said), "hold m at race.c:16: it is held at race.c:10");
    assert!(said["alternates"].as_array().is_some_and(Vec::is_empty));
}

#[test]
fn two_locks_are_no_common_one() {
    let with =
        |lock: &str| format!("pthread_mutex_lock(&{lock});\nx++;\npthread_mutex_unlock(&{lock});");
    let said = told("two-locks", "static int x;", &with("m"), &with("n"), "");
    let mut held = locks(&said);
    held.sort();
    assert_eq!(held, [vec!["m"], vec!["n"]]);
    assert!(advice(&said).ends_with("is another lock"), "{}", advice(&said));
}

#[test]
fn a_write_under_a_lock_for_reading_has_to_take_it_for_writing() {
    let reads = "pthread_rwlock_rdlock(&rw);\nx++;\npthread_rwlock_unlock(&rw);";
    let said = told("reading", "static int x;", reads, reads, "");
    assert_eq!(said["race"]["accesses"][0]["holds"][0]["shared"], true);
    assert!(advice(&said).starts_with("take rw for writing at "), "{}", advice(&said));
}

#[test]
fn who_reads_before_joining_should_join_before() {
    let said = told("join", "static int x, y;", "x = 1;", "", "y = x;");
    let expected = "join T0.1 before race.c:22, not only at race.c:23; or let one lock guard x, or make it atomic";
    assert_eq!(advice(&said), expected);
}

#[test]
fn a_plain_access_beside_an_atomic_one_should_be_atomic() {
    let said =
        told("atomic", "static int x;", "__atomic_store_n(&x, 1, __ATOMIC_SEQ_CST);", "x = 2;", "");
    let atomic = |index: usize| said["race"]["accesses"][index]["atomic"].as_bool();
    assert_ne!(atomic(0), atomic(1));
    assert_eq!(advice(&said), "race.c:14 should be atomic, as race.c:9 is");
}

#[test]
fn without_any_lock_one_is_asked_for() {
    let said = told("none", "static int x;", "x++;", "x--;", "");
    assert_eq!(locks(&said), [Vec::<&str>::new(), vec![]]);
    assert!(said["race"]["guard"].is_null());
    assert_eq!(advice(&said), "hold one lock at race.c:9 and race.c:14, or make x atomic");
}

#[test]
fn a_free_races_with_all_of_what_it_frees() {
    let shared = "static char *box;";
    let started = "pthread_create(&a, NULL, first, NULL);";
    let directory = directory("told-races-free");
    let text = format!(
        "{HEAD}{shared}\nstatic void *first(void *arg)\n{{\nfree(box);\nreturn arg;\n}}\n\
         int main(void)\n{{\npthread_t a;\nchar last;\nbox = calloc(8, 1);\n{started}\nlast = box[5];\n\
         pthread_join(a, NULL);\nreturn last;\n}}\n"
    );
    write(&directory, "race.c", &text);
    let options = ["explain", "race.c", "--races", "--json", "--repair-time=0s"];
    let said: Value = serde_json::from_str(&says(&directory, &options, FINDING)).expect("JSON");
    let races = said["bugs"].as_array().expect("bugs").iter().filter(|b| b["kind"] == "data-race");
    let told: Vec<&Value> = races.map(|bug| &bug["diagnosis"]["root_cause"]).collect();
    assert_eq!(told.len(), 1, "{said}");
    assert_eq!(told[0]["pattern"], "data-race", "{said}");
    assert_eq!(told[0]["advice"], "race.c:9 has to wait until T0 is done with box[5]");
}

#[test]
fn of_one_line_it_is_said_who_comes_without_the_lock() {
    let shared = "static int x;\nstatic void set(int lock)\n{\nif (lock)\npthread_mutex_lock(&m);\n\
                  x = 7;\nif (lock)\npthread_mutex_unlock(&m);\n}";
    let said = told("one-line", shared, "set(1);", "set(0);", "");
    assert_eq!(
        advice(&said),
        "hold m whoever comes to race.c:11: T0.1 has taken it at race.c:10, T0.2 has not"
    );
}
