//! `unravel causes`: every cause of a failure, with the lines that the paper's examples blame.

mod support;

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::Value;
use support::{ERROR, FINDING, INCONCLUSIVE, NOTHING, corpus, directory, says, write};

/// What the command answers as JSON, of a program in this directory.
#[track_caller]
fn causes(directory: &Path, arguments: &[&str], code: i32) -> Value {
    let arguments = [&["causes", "--json"], arguments].concat();
    let said = says(directory, &arguments, code);
    serde_json::from_str(&said).unwrap_or_else(|error| panic!("{error}: {said}"))
}

/// The same for a program of the corpus, whose causes are all there.
#[track_caller]
fn corpus_causes(test: &str, path: &str) -> Value {
    let said = causes(&directory(&format!("causes-{test}")), &[&corpus(path)], FINDING);
    assert_eq!(said["extent"]["complete"], true, "{said:#}");
    assert_eq!(said["verdict"], "concurrent", "{said:#}");
    said
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// Every cause of every class, as its orders: `T0.1:28 -> T0.2:29`.
fn orders(said: &Value) -> Vec<BTreeSet<String>> {
    let who = |one: &Value| {
        format!("{}:{}", one["thread"].as_str().expect("a thread"), one["place"]["line"])
    };
    let order = |order: &Value| format!("{} -> {}", who(&order["first"]), who(&order["second"]));
    let causes = list(&said["classes"]).iter().flat_map(|class| list(&class["causes"]));
    causes.map(|cause| list(&cause["orders"]).iter().map(order).collect()).collect()
}

fn set(orders: &[&str]) -> BTreeSet<String> {
    orders.iter().map(|order| (*order).to_owned()).collect()
}

/// `main` creates a thread, reads x, joins, and demands this of what it read before and of x.
fn one_thread(demand: &str) -> String {
    format!(
        "#include <assert.h>
#include <pthread.h>
#include <stddef.h>

static int x;

static void *one(void *arg)
{{
	x = 1;
	return arg;
}}

int main(void)
{{
	pthread_t thread;
	pthread_create(&thread, NULL, one, NULL);
	int before = x;
	pthread_join(thread, NULL);
	assert({demand});
	return 0;
}}
"
    )
}

#[test]
fn the_first_figure_has_the_papers_cause() {
    let said = corpus_causes("2.1", "figures/concbugassist-2.1/concbugassist-2.1.c");
    assert_eq!(orders(&said), [set(&["T0:28 -> T0.1:21", "T0.1:21 -> T0:29"])]);
}

#[test]
fn the_second_figure_has_the_papers_two_causes() {
    let said = corpus_causes("3.2", "figures/concbugassist-3.2/concbugassist-3.2.c");
    let mut seen = orders(&said);
    seen.sort();
    let one = set(&["T0.1:20 -> T0.2:28", "T0.2:29 -> T0.1:21"]);
    let other = set(&["T0.2:28 -> T0.1:20", "T0.1:21 -> T0.2:29"]);
    assert_eq!(seen, [one, other]);
    assert_eq!(list(&said["unique_orders"]).len(), 4);
}

#[test]
fn transmission_uses_before_it_initialises() {
    let said = corpus_causes("transmission", "real/transmission-1.42/transmission-1.42.c");
    assert_eq!(orders(&said), [set(&["T0.2:50 -> T0.1:43"])]);
    assert_eq!(said["classes"][0]["pattern"], "order-violation");
}

#[test]
fn one_list_add_comes_into_the_other_in_both_directions() {
    let said = corpus_causes("list-seq", "atomicity/list_seq/list_seq.c");
    let seen = orders(&said);
    // By way of the first reading of `open` and of the second.
    for (one, other) in [("T0.1", "T0.2"), ("T0.2", "T0.1")] {
        for first in [27, 28] {
            let wanted =
                set(&[&format!("{one}:{first} -> {other}:28"), &format!("{other}:28 -> {one}:28")]);
            assert!(seen.contains(&wanted), "{wanted:?} is not in {seen:?}");
        }
    }
    assert_eq!(seen.len(), 4, "{seen:?}");
}

#[test]
fn every_order_has_a_passing_run_that_reverses_it() {
    let said = corpus_causes("witnesses", "atomicity/hash_table/hash_table.c");
    let causes = list(&said["classes"]).iter().flat_map(|class| list(&class["causes"]));
    let mut orders = 0;
    for cause in causes {
        assert_eq!(cause["minimal"], true, "{cause:#}");
        for order in list(&cause["orders"]) {
            assert!(!list(&order["witness"]).is_empty(), "{order:#}");
            orders += 1;
        }
    }
    assert!(orders > 0, "{said:#}");
}

#[test]
fn what_fails_under_every_schedule_is_sequential() {
    let directory = directory("causes-sequential");
    write(&directory, "always.c", &one_thread("x == 2 || before == 2"));
    let said = causes(&directory, &["always.c"], FINDING);
    assert_eq!(said["verdict"], "sequential");
    assert_eq!(list(&said["classes"]).len(), 0, "{said:#}");
    let text = says(&directory, &["causes", "always.c"], FINDING);
    assert!(text.contains("fails under every schedule"), "{text}");
    assert!(text.contains("sequential bug"), "{text}");
}

#[test]
fn a_program_that_does_not_fail_has_no_causes() {
    let directory = directory("causes-nothing");
    write(&directory, "never.c", &one_thread("x == 1 && before < 2"));
    let said = causes(&directory, &["never.c"], NOTHING);
    assert_eq!(said["verdict"], "nothing-fails");
    assert_eq!(said["extent"]["complete"], true);
    let text = says(&directory, &["causes", "never.c"], NOTHING);
    assert!(text.contains("no failure: all 2 classes of schedules explored"), "{text}");
}

#[test]
fn what_could_not_be_followed_is_inconclusive() {
    let directory = directory("causes-inconclusive");
    write(&directory, "forever.c", "int main(void) { for (volatile int k = 0;; k++) { } }\n");
    let said = causes(&directory, &["forever.c", "--max-steps", "100000"], INCONCLUSIVE);
    assert_eq!(said["verdict"], "nothing-fails");
    assert_eq!(said["extent"]["complete"], false);
    assert!(!list(&said["extent"]["left_out"]).is_empty(), "{said:#}");
}

#[test]
fn a_program_that_is_not_there_is_an_error() {
    says(&directory("causes-error"), &["causes", "gone.c"], ERROR);
}

#[test]
fn what_was_left_out_is_said() {
    let directory = directory("causes-incomplete");
    let program = corpus("atomicity/account/account.c");
    let said = causes(&directory, &[&program, "--classes", "3"], FINDING);
    assert_eq!(said["extent"]["complete"], false);
    assert!(!list(&said["extent"]["left_out"]).is_empty(), "{said:#}");
    assert!(!list(&said["classes"]).is_empty(), "what failed has a cause all the same: {said:#}");
    let text = says(&directory, &["causes", &program, "--classes", "3"], FINDING);
    assert!(text.contains("not complete"), "{text}");
}

#[test]
fn a_graph_has_the_lines_and_the_orders() {
    let directory = directory("causes-dot");
    let program = corpus("figures/concbugassist-2.1/concbugassist-2.1.c");
    says(&directory, &["causes", &program, "--dot", "causes.dot"], FINDING);
    let dot = std::fs::read_to_string(directory.join("causes.dot")).expect("the graph is written");
    assert!(dot.starts_with("digraph") && dot.trim_end().ends_with('}'), "{dot}");
    for line in ["21: ", "28: ", "29: "] {
        assert!(dot.contains(&format!("label=\"{line}")), "{line} is not in {dot}");
    }
    // x is what both orders are about.
    assert_eq!(dot.matches("[label=\"x\"").count(), 2, "{dot}");
}

#[test]
fn the_json_is_as_its_schema_says() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/schema");
    let text = std::fs::read_to_string(path.join("unravel.causes-1.json")).expect("the schema");
    let schema = serde_json::from_str(&text).expect("JSON");
    let validator = jsonschema::validator_for(&schema).expect("a schema");
    let directory = directory("causes-schema");
    write(&directory, "always.c", &one_thread("x == 2 || before == 2"));
    for said in [
        causes(&directory, &["always.c"], FINDING),
        causes(&directory, &[&corpus("deadlock/deadlock/deadlock.c")], FINDING),
        causes(&directory, &[&corpus("atomicity/account/account.c")], FINDING),
    ] {
        let wrong: Vec<String> = validator.iter_errors(&said).map(|e| e.to_string()).collect();
        assert!(wrong.is_empty(), "{wrong:#?}");
    }
}

#[test]
fn inputs_that_are_not_given_are_tried() {
    let directory = directory("causes-inputs");
    let source = one_thread("!odd || before == 0")
        .replace("static int x;", "int __VERIFIER_nondet_int(void);\nstatic int x;")
        .replace(
            "\tpthread_t thread;",
            "\tint odd = __VERIFIER_nondet_int() & 1;\n\tpthread_t thread;",
        );
    write(&directory, "odd.c", &source);
    let odd = causes(&directory, &["odd.c", "--nondet", "5"], FINDING);
    assert_eq!(orders(&odd).len(), 1, "{odd:#}");
    let even = causes(&directory, &["odd.c", "--nondet", "4"], NOTHING);
    assert_eq!(even["extent"]["fixed_inputs"], true, "other values were not looked at: {even:#}");
    // Of twelve drawn values one is odd; the cause is the same for all of them.
    let drawn = causes(&directory, &["odd.c", "--inputs", "12"], FINDING);
    assert_eq!(list(&drawn["classes"]).len(), 1, "{drawn:#}");
    assert_eq!(list(&drawn["unique_orders"]), list(&odd["unique_orders"]));
}

#[test]
fn a_deadlock_is_caused_by_the_orders_of_its_locks() {
    let said = corpus_causes("deadlock", "deadlock/deadlock/deadlock.c");
    assert_eq!(orders(&said), [set(&["T0.1:34 -> T0.2:46", "T0.2:45 -> T0.1:35"])]);
    assert_eq!(said["classes"][0]["pattern"], "deadlock");
}

/// Only the first failure of a run is seen, so what fails before any thread has done anything must not look as if it
/// always did.
#[test]
fn a_read_before_the_thread_has_begun_is_an_order_violation() {
    let directory = directory("causes-too-early");
    let text = "#include <assert.h>
#include <pthread.h>
static int n;
static void *work(void *arg) { n = 1; return arg; }
int main(void)
{
	pthread_t thread;
	pthread_create(&thread, 0, work, 0);
	assert(n == 1);
	pthread_join(thread, 0);
	return 0;
}
";
    write(&directory, "early.c", text);
    let said = causes(&directory, &["early.c"], FINDING);
    assert_eq!(said["verdict"], "concurrent", "{said:#}");
    assert_eq!(orders(&said), [set(&["T0:9 -> T0.1:4"])], "{said:#}");
}

/// A thread that is alone does several things in one step, which others would see one by one.
#[test]
fn an_update_by_the_last_thread_alive_is_still_a_read_and_a_write() {
    let directory = directory("causes-alone");
    let text = "#include <assert.h>
#include <pthread.h>
static int n;
static void *look(void *arg) { assert(n == 0); return arg; }
int main(void)
{
	pthread_t thread;
	pthread_create(&thread, 0, look, 0);
	n++;
	pthread_join(thread, 0);
	return 0;
}
";
    write(&directory, "alone.c", text);
    let said = causes(&directory, &["alone.c"], FINDING);
    assert_eq!(orders(&said), [set(&["T0:9 -> T0.1:4"])], "{said:#}");
}

#[test]
fn what_always_fails_in_the_end_does_not_hide_what_fails_sometimes() {
    let directory = directory("causes-both");
    let text = "#include <assert.h>
#include <pthread.h>
static int n, bad;
static void *add(void *arg)
{
	int seen = n;
	n = seen + 1;
	return arg;
}
int main(void)
{
	pthread_t one, other;
	pthread_create(&one, 0, add, 0);
	pthread_create(&other, 0, add, 0);
	pthread_join(one, 0);
	pthread_join(other, 0);
	assert(n == 2);
	assert(bad == 1);
	return 0;
}
";
    write(&directory, "both.c", text);
    let said = causes(&directory, &["both.c"], FINDING);
    assert_eq!(said["verdict"], "concurrent", "{said:#}");
    assert_eq!(list(&said["classes"]).len(), 1, "{said:#}");
    assert!(said["notes"].to_string().contains("sequential"), "{said:#}");
}

#[test]
fn each_run_is_judged_by_its_own_output() {
    let directory = directory("causes-output");
    let text = "#include <pthread.h>
#include <stdio.h>
static int n;
static void *add(void *arg)
{
	int seen = n;
	n = seen + 1;
	return arg;
}
int main(void)
{
	pthread_t one, other;
	pthread_create(&one, 0, add, 0);
	pthread_create(&other, 0, add, 0);
	pthread_join(one, 0);
	pthread_join(other, 0);
	printf(\"%d\\n\", n);
	return 0;
}
";
    write(&directory, "told.c", text);
    write(&directory, "wanted", "2\n");
    let said = causes(&directory, &["--expect-output", "wanted", "told.c"], FINDING);
    assert_eq!((&said["extent"]["passing"], &said["extent"]["failing"]), (&2.into(), &2.into()));
}

/// Who ends the process in time passes too: no order of accesses tells that from the failure, only that of the end.
#[test]
fn the_end_of_the_process_is_in_the_order_too() {
    let directory = directory("causes-end");
    let text = "#include <pthread.h>
#include <stdlib.h>
static int *buffer;
static void *fill(void *arg) { buffer[0] = 1; return arg; }
int main(void)
{
	pthread_t thread;
	buffer = malloc(16);
	pthread_create(&thread, 0, fill, 0);
	pthread_detach(thread);
	free(buffer);
	return 0;
}
";
    write(&directory, "end.c", text);
    let said = causes(&directory, &["end.c"], FINDING);
    assert_eq!(said["extent"]["complete"], true, "{said:#}");
    let found = orders(&said);
    assert_eq!(found.len(), 1, "{said:#}");
    assert!(found[0].contains("T0:11 -> T0.1:4"), "{said:#}");
}
