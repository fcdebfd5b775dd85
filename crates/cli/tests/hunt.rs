//! `unravel hunt`: failures that no run showed, from runs that passed.

mod support;

use std::path::Path;

use serde_json::Value;
use support::{FINDING, INCONCLUSIVE, NOTHING, corpus, directory, ended, says, unravel, write};

/// One increment of two is lost if a switch comes between a read and a write, which it seldom does.
const LOST_UPDATE: &str = r#"
#include <assert.h>
#include <pthread.h>
static int total;
static void *add(void *arg)
{
    int seen = total;
    total = seen + 1;
    return arg;
}
int main(void)
{
    pthread_t a, b;
    pthread_create(&a, 0, add, 0);
    pthread_create(&b, 0, add, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    assert(total == 2);
    return 0;
}
"#;

const DEADLOCK: &str = r#"
#include <pthread.h>
static pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER, b = PTHREAD_MUTEX_INITIALIZER;
static void *one(void *arg)
{
    pthread_mutex_lock(&a);
    pthread_mutex_lock(&b);
    pthread_mutex_unlock(&b);
    pthread_mutex_unlock(&a);
    return arg;
}
static void *other(void *arg)
{
    pthread_mutex_lock(&b);
    pthread_mutex_lock(&a);
    pthread_mutex_unlock(&a);
    pthread_mutex_unlock(&b);
    return arg;
}
int main(void)
{
    pthread_t t, u;
    pthread_create(&t, 0, one, 0);
    pthread_create(&u, 0, other, 0);
    pthread_join(t, 0);
    pthread_join(u, 0);
    return 0;
}
"#;

/// What `hunt --json` says, which has to obey the committed schema.
fn document(directory: &Path, arguments: &[&str], code: i32) -> Value {
    let arguments: Vec<&str> = ["hunt", "--json"].iter().chain(arguments).copied().collect();
    let text = says(directory, &arguments, code);
    let document: Value = serde_json::from_str(&text).expect("it is JSON");
    let schema =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/schema/unravel.hunt-1.json");
    let schema = std::fs::read_to_string(schema).expect("the schema is there");
    let schema: Value = serde_json::from_str(&schema).expect("a schema is JSON");
    let validator = jsonschema::validator_for(&schema).expect("a schema");
    let complaints: Vec<String> = validator.iter_errors(&document).map(|e| e.to_string()).collect();
    assert_eq!(complaints, [""; 0]);
    document
}

#[test]
fn figure_5_1_is_exposed_on_another_path_and_replays() {
    let directory = directory("hunt-figure");
    let program = corpus("figures/thesis-5.1/thesis-5.1.c");
    let text = says(&directory, &["hunt", &program], FINDING);
    assert!(text.starts_with("exposed: assertion 'x > 0' failed at thesis-5.1.c:25"), "{text}");
    for part in [
        "100 runs never showed",
        "on another path: ",
        "confirmed: executed twice, failed twice",
        "Root cause: ",
        "How it fails, and the run it was derived from",
        "unravel repair ",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(!text.contains("no line information"), "every branch has its line: {text}");
    let trace = "unravel-out/thesis-5.1-assertion-1.trace";
    let replayed = says(&directory, &["replay", trace], FINDING);
    assert!(replayed.contains("'x > 0' failed"), "{replayed}");
    let page = std::fs::read_to_string(directory.join("unravel-out/thesis-5.1-hunt.html"));
    assert!(page.expect("the page is there").contains("the run it was derived from"));
}

#[test]
fn the_twin_of_figure_5_1_exposes_nothing_and_that_is_all_there_is() {
    let directory = directory("hunt-twin");
    let program = corpus("figures/thesis-5.1/fixed.c");
    let text = says(&directory, &["hunt", &program], NOTHING);
    assert!(
        text.starts_with("nothing exposed: no order of any execution within these bounds fails\n"),
        "{text}"
    );
    assert!(text.contains("exhausted: every combination that was seen"), "{text}");
    assert_eq!(says(&directory, &["hunt", "--quiet", &program], NOTHING), "");
}

#[test]
fn an_order_of_the_same_steps_is_enough_for_a_lost_update() {
    let directory = directory("hunt-lost-update");
    write(&directory, "lost.c", LOST_UPDATE);
    let document = document(&directory, &["--runs", "20", "lost.c"], FINDING);
    let exposed = &document["exposed"][0];
    assert_eq!(exposed["how"], "by-schedule", "{exposed}");
    assert_eq!(exposed["failure"]["bug"], "assertion at lost.c:18");
    assert_eq!(exposed["flips"], Value::Array(Vec::new()));
    assert_eq!(exposed["executed_again"], true);
    assert_eq!(exposed["diagnosis"]["root_cause"]["pattern"], "lost-update");
    assert_eq!(exposed["derived"]["passing"]["run"]["outcome"]["kind"], "exited");
    let trace = exposed["trace"].as_str().expect("a trace was written");
    assert!(says(&directory, &["replay", trace], FINDING).contains("total == 2"));
    let quiet = says(&directory, &["hunt", "-q", "--runs", "20", "lost.c"], FINDING);
    assert_eq!(quiet, format!("lost: assertion at lost.c:18  unravel replay {trace}\n"));
}

#[test]
fn locks_in_both_orders_are_a_deadlock_that_never_happened() {
    let directory = directory("hunt-deadlock");
    write(&directory, "locks.c", DEADLOCK);
    let document = document(&directory, &["--runs", "20", "locks.c"], FINDING);
    let exposed = &document["exposed"][0];
    assert_eq!(
        (&exposed["failure"]["kind"], &exposed["how"]),
        (&"deadlock".into(), &"by-schedule".into())
    );
    let trace = exposed["trace"].as_str().expect("a trace was written");
    assert!(says(&directory, &["replay", trace], FINDING).contains("deadlock"));
}

#[test]
fn a_database_makes_the_second_hunt_start_from_known_runs() {
    let directory = directory("hunt-database");
    let program = corpus("figures/thesis-5.1/fixed.c");
    let arguments = ["--runs", "20", "--db", "runs", &program];
    let first = document(&directory, &arguments, NOTHING);
    assert_eq!(
        (&first["runs"]["known_before"], &first["verdict"]),
        (&0.into(), &"exhausted".into())
    );
    let second = document(&directory, &arguments, NOTHING);
    let known = second["runs"]["known_before"].as_u64().expect("a number");
    // The first hunt also kept what it executed on the way.
    assert!(known >= first["runs"]["distinct"].as_u64().expect("a number"), "{second}");
    assert_eq!(second["verdict"], "exhausted");
    let text = says(&directory, &["hunt", "--runs", "20", "--db", "runs", &program], NOTHING);
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("known from the database"), "{text}");
}

#[test]
fn what_fails_in_every_run_needs_no_hunting() {
    let directory = directory("hunt-by-itself");
    write(
        &directory,
        "always.c",
        "#include <assert.h>\nint main(void) { assert(1 == 2); return 0; }\n",
    );
    let text = says(&directory, &["hunt", "--runs", "3", "always.c"], FINDING);
    assert!(text.starts_with("failed by itself in 12 of 12 runs; nothing to hunt: use"), "{text}");
    assert!(text.contains("unravel explain always.c\n"), "{text}");
}

#[test]
fn without_a_run_that_passes_it_is_inconclusive() {
    let directory = directory("hunt-inconclusive");
    let endless = "int main(void) { for (volatile int i = 0;; i++) { } }\n";
    write(&directory, "endless.c", endless);
    let arguments = ["hunt", "--runs", "2", "--max-steps", "1000", "endless.c"];
    let output = unravel(&directory, &arguments).output().expect("unravel runs");
    let text = ended(&output, &arguments, INCONCLUSIVE);
    assert!(text.starts_with("inconclusive: none of 8 runs can be used"), "{text}");
    assert!(!text.contains("exhausted"), "{text}");
}

/// Table 5.2 of the thesis; of Pool the better of Cortex and MCR (table 5.3).
const ATTEMPTS: &[(&str, u64)] = &[
    ("atomicity/account", 1),
    ("path-dependent/critical", 6),
    ("path-dependent/exmcr", 6),
    ("atomicity/pingpong", 1),
    ("sync/piper", 1),
    ("atomicity/airline", 1),
    ("order/garage", 9),
    ("atomicity/bubblesort", 4),
    ("atomicity/manager", 1),
    ("path-dependent/loader", 11),
    ("atomicity/stringbuffer", 1),
    ("path-dependent/ticketorder", 1),
    ("data-race/bufwriter", 1),
    ("real/pool", 3),
    ("real/cache4j", 1),
    ("figures/thesis-5.1", 6),
];

#[test]
fn no_failure_takes_more_attempts_than_cortex_needs() {
    let directory = directory("hunt-attempts");
    for (case, most) in ATTEMPTS {
        let name = case.rsplit('/').next().unwrap_or(case);
        let language = if name == "stringbuffer" { "cpp" } else { "c" };
        let program = corpus(&format!("{case}/{name}.{language}"));
        let document = document(&directory, &[&program], FINDING);
        let exposed = &document["exposed"][0];
        assert_ne!(exposed["how"], "by-itself", "{case}: {exposed}");
        assert_eq!(exposed["executed_again"], true, "{case}: {exposed}");
        let attempt = exposed["attempt"].as_u64().expect("a number");
        assert!(attempt <= *most, "{case} took {attempt} attempts, not {most}");
    }
}

/// As long as in the thesis: updates of a counter that the solver would have to put into every order, and many places to ask about.
#[test]
fn what_cannot_be_refuted_keeps_nobody_from_the_next_question() {
    let directory = directory("hunt-long");
    let sized: [(&str, &[&str], u64); 3] = [
        ("order/garage", &["5", "6", "100"], 9),
        ("path-dependent/loader", &["10", "9"], 11),
        ("path-dependent/ticketorder", &["3", "14"], 1),
    ];
    for (case, args, most) in sized {
        let name = case.rsplit('/').next().unwrap_or(case);
        let program = corpus(&format!("{case}/{name}.c"));
        let document = document(&directory, &[&[&*program, "--"], args].concat(), FINDING);
        let exposed = &document["exposed"][0];
        assert_eq!(exposed["how"], "by-path", "{case}: {exposed}");
        assert!(exposed["attempt"].as_u64().is_some_and(|n| n <= most), "{case}: {exposed}");
    }
}

/// Two flips have to happen in one execution, which none of the orders for one flip shows by chance.
const TWO_FLAGS: &str = r#"
#include <assert.h>
#include <pthread.h>
int f, g, seen_f, seen_g, both;
static void *blink(void *arg) { f = 1; f = 0; g = 1; g = 0; return arg; }
static void *look_f(void *arg) { if (f) seen_f = 1; if (both) assert(0); return arg; }
static void *look_g(void *arg) { if (g) seen_g = 1; return arg; }
static void *sum(void *arg) { if (seen_f + seen_g == 2) both = 1; return arg; }
int main(void)
{
    void *(*run[4])(void *) = { blink, look_f, look_g, sum };
    pthread_t threads[4];
    for (int i = 0; i < 4; i++)
        pthread_create(&threads[i], 0, run[i], 0);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], 0);
    return 0;
}
"#;

#[test]
fn flips_of_several_threads_come_together() {
    let directory = directory("hunt-two-flags");
    write(&directory, "flags.c", TWO_FLAGS);
    let document = document(&directory, &["flags.c"], FINDING);
    assert_eq!(document["exposed"][0]["how"], "by-path", "{document}");
}

/// The argument and the order have to be right.
const ARGUMENT: &str = r#"
#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
static int a, b;
static void *set(void *arg) { a = 1; b = 1; return arg; }
int main(int argc, char **argv)
{
    int key = argc > 1 ? atoi(argv[1]) : 0;
    pthread_t thread;
    pthread_create(&thread, 0, set, 0);
    int seen_b = b, seen_a = a;
    if (key == 42)
        assert(!(seen_b == 0 && seen_a == 1));
    pthread_join(thread, 0);
    return 0;
}
"#;

#[test]
fn an_argument_and_an_order_are_found_together() {
    let directory = directory("hunt-argument");
    write(&directory, "argument.c", ARGUMENT);
    let nothing = document(&directory, &["argument.c", "--", "7"], NOTHING);
    assert_eq!(nothing["exposed"], Value::Array(Vec::new()));
    let arguments = ["--symbolic-input", "argument.c", "--", "7"];
    let found = document(&directory, &arguments, FINDING);
    let exposed = &found["exposed"][0];
    assert_eq!(exposed["executed_again"], true, "{exposed}");
    assert!(exposed["inputs"].to_string().contains("42"), "{exposed}");
    let trace = exposed["trace"].as_str().expect("a trace was written");
    assert!(says(&directory, &["replay", trace], FINDING).contains("seen_b == 0"));
}

#[test]
fn a_secret_value_is_found() {
    let directory = directory("hunt-secret");
    let program = corpus("path-dependent/console/console.c");
    let found = document(&directory, &[&program], FINDING);
    assert!(found["exposed"][0]["inputs"].to_string().contains("4711"), "{found}");
}

/// Only one of the ways of a switch fails, and one order leads to each.
const SWITCH: &str = r#"
#include <assert.h>
#include <pthread.h>
static int x, y;
static void *count(void *arg) { x = 1; x = 2; x = 3; x = 4; x = 5; x = 0; return arg; }
static void *look(void *arg)
{
    switch (x) {
    case 0: y = 1; break;
    case 1: y = 2; break;
    case 2: y = 3; break;
    case 3: y = 4; break;
    case 4: assert(0);
    case 5: y = 6; break;
    }
    return arg;
}
int main(void)
{
    pthread_t a, b;
    pthread_create(&a, 0, count, 0);
    pthread_create(&b, 0, look, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    return 0;
}
"#;

#[test]
fn what_was_not_tried_is_not_called_exhausted() {
    let directory = directory("hunt-switch");
    write(&directory, "switch.c", SWITCH);
    let arguments = ["hunt", "--json", "--runs", "5", "switch.c"];
    let output = unravel(&directory, &arguments).output().expect("unravel runs");
    let document: Value = serde_json::from_slice(&output.stdout).expect("it is JSON");
    assert_ne!(document["verdict"], "exhausted", "{document}");
}
