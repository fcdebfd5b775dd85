//! Several bugs in one program: repaired one by one, and by one patch for all where there is one.

mod support;

use serde_json::Value;
use support::*;

/// Four bugs that have nothing to do with each other.
const FOUR: &str = "#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
static int hits, stock = 5, ready, value;
static int *config;
static pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER, b = PTHREAD_MUTEX_INITIALIZER;
static void *one(void *p) { int h = hits; hits = h + 1; return p; }
static void *two(void *p) { config = malloc(sizeof *config); *config = 1; return p; }
static void *three(void *p) { (*config)++; return p; }
static void *four(void *p)
{
    pthread_mutex_lock(&a);
    pthread_mutex_lock(&b);
    stock--;
    pthread_mutex_unlock(&b);
    pthread_mutex_unlock(&a);
    return p;
}
static void *five(void *p)
{
    pthread_mutex_lock(&b);
    pthread_mutex_lock(&a);
    stock--;
    pthread_mutex_unlock(&a);
    pthread_mutex_unlock(&b);
    return p;
}
static void *six(void *p) { ready = 1; value = 42; return p; }
static void *seven(void *p) { if (ready) assert(value == 42); return p; }
static void *eight(void *p) { int h = hits; hits = h + 1; return p; }
int main(void)
{
    void *(*start[8])(void *) = { one, two, three, four, five, six, seven, eight };
    pthread_t t[8];
    for (int i = 0; i < 8; i++) pthread_create(&t[i], 0, start[i], 0);
    for (int i = 0; i < 8; i++) pthread_join(t[i], 0);
    assert(hits == 2);
    free(config);
    return 0;
}
";

/// One that no order of whole updates mends, and a lost update.
const ONE_FOR_EVER: &str = "#include <assert.h>
#include <pthread.h>
static int hits, odd;
static void *count(void *p) { int seen = hits; hits = seen + 1; return p; }
static void *turn(void *p) { int was = odd; odd = was + 1; return p; }
int main(void)
{
    pthread_t t[4];
    pthread_create(&t[0], 0, count, 0);
    pthread_create(&t[1], 0, count, 0);
    pthread_create(&t[2], 0, turn, 0);
    pthread_create(&t[3], 0, turn, 0);
    for (int i = 0; i < 4; i++) pthread_join(t[i], 0);
    assert(odd == 1);
    assert(hits == 2);
    return 0;
}
";

fn repairs(test: &str, program: &str) -> (std::path::PathBuf, Value) {
    let directory = directory(test);
    write(&directory, "p.c", program);
    let text = says(&directory, &["repair", "p.c", "--json"], FINDING);
    (directory, serde_json::from_str(&text).expect("JSON"))
}

#[test]
fn what_mends_each_bug_is_put_together() {
    let (directory, all) = repairs("repair-apart-four", FOUR);
    assert_eq!(all["causes"]["bugs"].as_array().map(Vec::len), Some(4), "{all:#}");
    let best = &all["repairs"][0];
    assert_eq!(best["leaves"], serde_json::json!([]), "{best:#}");
    assert_eq!(best["covers"].as_array().map(Vec::len), Some(4), "{best:#}");
    assert!(best["meaning"].is_object(), "{best:#}");
    // Nothing is passed over in what is checked of it, and nothing fails that a search finds.
    let checks = best["checks"].as_array().expect("checks");
    assert!(checks.iter().all(|check| check["aside"] == 0 && check["complete"] == true));
    write(&directory, "patched.c", best["files"][0]["text"].as_str().expect("text"));
    says(&directory, &["find", "patched.c", "--strategy", "exhaustive"], NOTHING);
}

#[test]
fn a_repair_for_one_of_two_bugs_says_so() {
    let (directory, all) = repairs("repair-apart-two", ONE_FOR_EVER);
    let best = &all["repairs"][0];
    assert_eq!(best["leaves"].as_array().map(Vec::len), Some(1), "{best:#}");
    let check = &best["checks"][0];
    assert!(check["aside"].as_u64() > Some(0), "{check:#}");
    let text = says(&directory, &["explain", "p.c"], FINDING);
    assert!(text.contains("for assertion at p.c:15; 1 other bug is left"), "{text}");
    assert!(text.contains("9 that fail by bugs"), "{text}");
    // The patched program fails by the other one only.
    write(&directory, "patched.c", best["files"][0]["text"].as_str().expect("text"));
    let text = says(&directory, &["find", "patched.c", "--all", "--json"], FINDING);
    let found: Value = serde_json::from_str(&text).expect("JSON");
    let bugs = found["findings"].as_array().expect("findings");
    assert_eq!(bugs.len(), 1, "{found:#}");
}
