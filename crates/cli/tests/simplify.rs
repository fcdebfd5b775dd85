//! `unravel simplify`: what a user gets is the same failure, simpler, and it replays.

mod support;

use std::path::Path;

use serde_json::Value;
use support::{ERROR, FINDING, INCONCLUSIVE, corpus, directory, says, write};

/// Finds the bug of a program of the corpus by random search, and simplifies the trace.
fn simplified(test: &str, program: &str, flags: &[&str]) -> Value {
    let directory = directory(&format!("simplify-{test}"));
    let program = corpus(program);
    let find = ["find", &program, "--json", "--jobs", "1", "--strategy", "random", "--out", "out"];
    let limits = ["--schedules", "20000", "--time", "60s"];
    let found = says(&directory, &[&find[..], &limits, flags].concat(), FINDING);
    let found: Value = serde_json::from_str(&found).expect("find prints JSON");
    let trace = found["findings"][0]["trace"].as_str().expect("a trace").to_owned();
    let said = says(&directory, &["simplify", &trace, "-o", "simple.trace", "--json"], FINDING);
    let simple: Value = serde_json::from_str(&said).expect("simplify prints JSON");
    assert_eq!(simple["run"]["outcome"]["bug"], found["findings"][0]["run"]["outcome"]["bug"]);
    let before = simple["before"]["context_switches"].as_u64();
    assert!(simple["after"]["context_switches"].as_u64() <= before, "{said}");
    assert_eq!(simple["after"]["context_switches"], simple["run"]["context_switches"]);
    replays(&directory, "simple.trace");
    simple
}

/// A trace is what replay makes of it, with its failure.
fn replays(directory: &Path, trace: &str) {
    let said = says(directory, &["replay", trace, "--times", "3", "--json"], FINDING);
    let replay: Value = serde_json::from_str(&said).expect("replay prints JSON");
    assert_eq!(replay["same"], true, "{said}");
}

fn number(simple: &Value, pointer: &str) -> u64 {
    simple.pointer(pointer).and_then(Value::as_u64).unwrap_or_else(|| panic!("{pointer}: {simple}"))
}

#[test]
fn the_example_of_the_paper_has_its_optimum() {
    // Figure 5: one preemption, after x = 1, and back. Here main runs first, to create the two.
    let simple = simplified("figure", "figures/tinertia-1/tinertia-1.c", &[]);
    assert_eq!(simple["optimality"], "proved minimal", "{simple}");
    assert_eq!(number(&simple, "/after/context_switches"), 3, "{simple}");
    assert_eq!(number(&simple, "/after/switches/preemptive"), 1, "{simple}");
    // It points to the lines between which x changes.
    assert_eq!(simple["preemptions"][0]["at"], "tinertia-1.c:29", "{simple}");
}

#[test]
fn deadlocks_and_broken_atomicity_are_proved_minimal() {
    for (test, program, flags) in [
        ("deadlock", "deadlock/deadlock/deadlock.c", &[][..]),
        ("bank", "atomicity/bank/bank.c", &[]),
        ("account", "atomicity/account/account.c", &[]),
        ("stringbuffer", "atomicity/stringbuffer/stringbuffer.cpp", &[]),
    ] {
        let simple = simplified(test, program, flags);
        assert_eq!(simple["optimality"], "proved minimal", "{program}: {simple}");
        let local = number(&simple, "/local/preemptive") + number(&simple, "/local/forced");
        assert!(local <= number(&simple, "/after/context_switches") + 1, "{program}: {simple}");
    }
}

/// An update gets lost if a thread is interrupted between its read and its write.
const COUNTER: &str = r#"
#include <assert.h>
#include <pthread.h>
#include <stdio.h>
static int counter;
static void *add(void *arg)
{
    int seen = counter;
    counter = seen + 1;
    return arg;
}
int main(void)
{
    pthread_t a, b;
    pthread_create(&a, NULL, add, NULL);
    pthread_create(&b, NULL, add, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    printf("%d\n", counter);
    END
}
"#;

#[test]
fn a_person_reads_what_is_left_and_where() {
    let directory = directory("simplify-words");
    write(&directory, "counter.c", &COUNTER.replace("END", "assert(counter == 2);"));
    says(&directory, &["find", "counter.c", "--out", "out"], FINDING);
    let trace = "out/counter-assertion-1.trace";
    let said = says(&directory, &["simplify", trace], FINDING);
    for words in [
        "assertion 'counter == 2' failed",
        "proved minimal: no schedule fails so",
        "-> 1 preemptions",
        "before counter.c:9 in add; T0.",
        "unravel replay out/counter-assertion-1-simple.trace",
    ] {
        assert!(said.contains(words), "no '{words}' in\n{said}");
    }
    replays(&directory, "out/counter-assertion-1-simple.trace");
    // What is minimal stays as it is; without a proof nothing is claimed.
    let again = "out/counter-assertion-1-simple.trace";
    let said = says(&directory, &["simplify", again, "--no-proof", "-o", "again.trace"], FINDING);
    assert!(said.contains("local optimum: nothing is proved"), "{said}");
}

#[test]
fn failures_by_rule_are_simplified_by_execution_alone() {
    let directory = directory("simplify-exit");
    write(&directory, "counter.c", &COUNTER.replace("END", "return counter == 2 ? 0 : 7;"));
    says(&directory, &["find", "counter.c", "--fail-on-exit", "--out", "out"], FINDING);
    let trace = "out/counter-exit-code-1.trace";
    let said = says(&directory, &["simplify", trace, "--json"], FINDING);
    let simple: Value = serde_json::from_str(&said).expect("JSON");
    assert_eq!(simple["optimality"], "proved minimal", "{said}");
    assert_eq!(number(&simple, "/after/switches/preemptive"), 1, "{said}");
}

#[test]
fn what_does_not_fail_is_not_simplified() {
    let directory = directory("simplify-passes");
    write(&directory, "counter.c", &COUNTER.replace("END", "assert(counter == 2);"));
    says(&directory, &["run", "counter.c", "--strategy", "run-to-block", "-o", "run.trace"], 0);
    says(&directory, &["simplify", "run.trace"], ERROR);
    says(&directory, &["find", "counter.c", "--out", "out"], FINDING);
    // Repaired since: the recorded run does not fail any more.
    let repaired = COUNTER.replace("int seen = counter;", "");
    let repaired = repaired.replace("counter = seen + 1;", "__sync_fetch_and_add(&counter, 1);");
    write(&directory, "counter.c", &repaired.replace("END", "assert(counter == 2);"));
    let trace = "out/counter-assertion-1.trace";
    let said = says(&directory, &["simplify", trace], INCONCLUSIVE);
    assert!(said.contains("does not fail any more"), "{said}");
}

#[test]
fn of_a_suffix_all_before_stays_as_it_was() {
    let directory = directory("simplify-suffix");
    let program = corpus("atomicity/bank/bank.c");
    let find = ["find", &program, "--json", "--jobs", "1", "--strategy", "random", "--out", "out"];
    says(&directory, &[&find[..], &["--schedules", "20000", "--", "4"]].concat(), FINDING);
    let trace = "out/bank-assertion-1.trace";
    let simplify = |flags: &[&str]| -> Value {
        let said = says(&directory, &[&["simplify", trace, "--json"], flags].concat(), FINDING);
        serde_json::from_str(&said).expect("JSON")
    };
    let whole = simplify(&["-o", "whole.trace"]);
    let suffix = simplify(&["--suffix", "60", "-o", "suffix.trace"]);
    let switches = |simple: &Value| number(simple, "/after/context_switches");
    let before = number(&suffix, "/before/context_switches");
    assert!(switches(&whole) < switches(&suffix) && switches(&suffix) < before, "{suffix}");
    assert_eq!(suffix["optimality"], "local optimum", "{suffix}");
    let events = |trace: &str| -> Vec<Value> {
        let said = says(&directory, &["trace", "show", trace, "--json"], 0);
        let shown: Value = serde_json::from_str(&said).expect("JSON");
        shown["events"].as_array().expect("events").clone()
    };
    // A few events of a trace are no points of its schedule.
    let kept = number(&suffix, "/before/events") as usize - 60;
    assert_eq!(events(trace)[..kept], events("suffix.trace")[..kept]);
    replays(&directory, "suffix.trace");
}

/// What each operation took away is together what went.
#[test]
fn every_switch_that_goes_is_one_operation_s() {
    let simple = simplified("removed", "atomicity/bank/bank.c", &["--", "4"]);
    let removed = simple["removed"].as_object().expect("by operation");
    let sum: u64 = removed.values().filter_map(Value::as_u64).sum();
    let [before, after] =
        ["/before", "/after"].map(|run| number(&simple, &format!("{run}/context_switches")));
    assert_eq!(sum, before - after, "{simple}");
    assert!(number(&simple, "/iterations") >= 2, "{simple}");
}
