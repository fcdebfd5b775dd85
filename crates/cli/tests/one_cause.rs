//! Failures of one cause are one bug for a reader: what keeps one away keeps the others away.

mod support;

use serde_json::Value;
use support::{FINDING, directory, says, write};

fn bugs(test: &str, text: &str, more: &[&str]) -> Vec<Value> {
    let directory = directory(&format!("one-cause-{test}"));
    write(&directory, "bug.c", text);
    let options = [&["explain", "bug.c", "--json", "--repair-time=0s"], more].concat();
    let said: Value = serde_json::from_str(&says(&directory, &options, FINDING)).expect("JSON");
    said["bugs"].as_array().expect("a list").clone()
}

/// Bugs that tell a cause of their own.
fn heads(bugs: &[Value]) -> usize {
    bugs.iter().filter(|bug| bug["same_cause_as"].is_null()).count()
}

/// A queue without a lock: one stretch, interrupted once or twice, breaks two assertions.
const QUEUE: &str = r#"
#include <assert.h>
#include <pthread.h>
static int slots[4], filled;
static void *put(void *arg)
{
    int at = filled;
    slots[at] = 5;
    filled = at + 1;
    return arg;
}
int main(void)
{
    pthread_t t[3];
    for (int i = 0; i < 3; i++)
        pthread_create(&t[i], 0, put, 0);
    for (int i = 0; i < 3; i++)
        pthread_join(t[i], 0);
    if (filled == 1)
        assert(slots[1] == 5);
    assert(filled == 3);
    return 0;
}
"#;

#[test]
fn one_interrupted_stretch_is_one_cause() {
    let bugs = bugs("queue", QUEUE, &[]);
    assert_eq!(bugs.len(), 2, "{bugs:?}");
    assert_eq!(heads(&bugs), 1, "{bugs:?}");
}

/// Two counters, each updated without a lock, each with its own assertion.
const UNRELATED: &str = r#"
#include <assert.h>
#include <pthread.h>
static int first, second;
static void *one(void *arg)
{
    first++;
    return arg;
}
static void *other(void *arg)
{
    second++;
    return arg;
}
int main(void)
{
    pthread_t t[4];
    for (int i = 0; i < 4; i++)
        pthread_create(&t[i], 0, i % 2 ? one : other, 0);
    for (int i = 0; i < 4; i++)
        pthread_join(t[i], 0);
    if (first != 2)
        assert(!"first");
    assert(second == 2);
    return 0;
}
"#;

#[test]
fn what_goes_away_alone_has_a_cause_of_its_own() {
    let bugs = bugs("unrelated", UNRELATED, &[]);
    assert_eq!(bugs.len(), 2, "{bugs:?}");
    assert_eq!(heads(&bugs), 2, "{bugs:?}");
}

#[test]
fn races_for_one_object_have_one_cause() {
    let text = "#include <pthread.h>\nstatic int x;\n\
        static void *a(void *arg)\n{\nx = 1;\nreturn arg;\n}\n\
        static void *b(void *arg)\n{\nx = 2;\nreturn arg;\n}\n\
        static void *c(void *arg)\n{\nreturn x ? arg : 0;\n}\n\
        int main(void)\n{\npthread_t t[3];\npthread_create(t, 0, a, 0);\npthread_create(t + 1, 0, b, 0);\n\
        pthread_create(t + 2, 0, c, 0);\nfor (int i = 0; i < 3; i++)\npthread_join(t[i], 0);\nreturn 0;\n}\n";
    let bugs = bugs("races", text, &["--races"]);
    assert!(bugs.len() >= 2, "{bugs:?}");
    assert_eq!(heads(&bugs), 1);
}
