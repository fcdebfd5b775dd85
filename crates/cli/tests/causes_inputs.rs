//! Causes and repairs of programs that fail with some inputs only: the inputs are found, and what is said names them.

mod support;

use std::path::Path;

use serde_json::Value;
use support::{FINDING, NOTHING, corpus, directory, says, write};

/// What a command answers as JSON, of a program.
#[track_caller]
fn answer(directory: &Path, arguments: &[&str], code: i32) -> Value {
    let said = says(directory, arguments, code);
    serde_json::from_str(&said).unwrap_or_else(|error| panic!("{error}: {said}"))
}

#[track_caller]
fn causes_of(test: &str, program: &str, code: i32) -> Value {
    let program = corpus(&format!("path-dependent/{program}"));
    answer(&directory(&format!("causes-inputs-{test}")), &["causes", "--json", &program], code)
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// The first value of each input that a class of causes, or a bug, was seen with.
fn seen_with(said: &Value, what: &Value) -> Vec<i64> {
    let inputs = list(&what["inputs"]).iter().filter_map(Value::as_u64);
    inputs.map(|number| first_value(&said["inputs"][number as usize])).collect()
}

fn first_value(input: &Value) -> i64 {
    let value = input["values"][0]["value"].as_str().expect("a value");
    value.parse().expect("a number")
}

/// A worker that is always locked; what `main` does with `k` before and after it is a test's own.
fn locked(before: &str, after: &str) -> String {
    format!(
        "#include <assert.h>
#include <pthread.h>
#include <stddef.h>

extern int __VERIFIER_nondet_int(void);
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int total;

static void *add(void *arg)
{{
	pthread_mutex_lock(&lock);
	total++;
	pthread_mutex_unlock(&lock);
	return arg;
}}

int main(void)
{{
	pthread_t thread;
	int k = __VERIFIER_nondet_int();
	pthread_create(&thread, NULL, add, NULL);
	{before}
	pthread_join(thread, NULL);
	{after}
	return 0;
}}
"
    )
}

#[test]
fn a_bug_behind_one_input_among_all_is_found_with_it() {
    let said = causes_of("console", "console/console.c", FINDING);
    assert_eq!(said["verdict"], "concurrent");
    assert_eq!(said["extent"]["complete"], true);
    let classes = list(&said["classes"]);
    assert_eq!(classes.len(), 1, "{said:#}");
    assert_eq!(seen_with(&said, &classes[0]), [4711]);
    assert_eq!(seen_with(&said, &said["bugs"][0]), [4711]);
    let passes = list(&said["inputs"]).iter().filter(|input| input["failing"] == 0);
    assert_eq!(passes.count() + 1, list(&said["inputs"]).len(), "no other input fails: {said:#}");
}

#[test]
fn the_report_names_the_inputs_and_claims_nothing_of_others() {
    let directory = directory("causes-inputs-words");
    let said = says(&directory, &["causes", &corpus("path-dependent/console/console.c")], FINDING);
    for words in [
        "complete for the 3 inputs tried: all",
        "1 class of schedules fails so, with the input 4711 (of 3 tried)",
        "with others it may fail in other ways",
    ] {
        assert!(said.contains(words), "'{words}' is missing: {said}");
    }
    let page = std::fs::read_to_string(directory.join("unravel-out/console-causes.html"));
    assert!(page.expect("the page").contains("with the input 4711 (of 3 tried)"));
}

/// The trace of a bug has the input it needs.
#[test]
fn the_trace_has_the_input() {
    let directory = directory("causes-inputs-trace");
    says(&directory, &["causes", &corpus("path-dependent/console/console.c")], FINDING);
    says(&directory, &["replay", "unravel-out/console-assertion-1.trace"], FINDING);
}

#[test]
fn each_of_two_causes_holds_for_inputs_of_its_own() {
    let said = causes_of("two", "valvecommands/valvecommands.c", FINDING);
    let classes = list(&said["classes"]);
    assert_eq!(classes.len(), 2, "{said:#}");
    let line = |class: &Value| class["causes"][0]["orders"][0]["first"]["place"]["line"].as_u64();
    for class in classes {
        let inputs = seen_with(&said, class);
        match line(class) {
            Some(30) => assert!(!inputs.is_empty() && inputs.iter().all(|k| *k < 0), "{inputs:?}"),
            Some(60) => assert_eq!(inputs, [4711]),
            other => panic!("a cause that begins at line {other:?}: {class:#}"),
        }
    }
}

#[test]
fn a_cause_for_every_input_says_so() {
    let said = causes_of("all", "batchsize/batchsize.c", FINDING);
    let classes = list(&said["classes"]);
    assert_eq!(classes.len(), 1, "{said:#}");
    let tried = list(&said["inputs"]).len();
    assert_eq!(list(&classes[0]["inputs"]).len(), tried);
    let is_large = |input: &Value| first_value(input) as u32 > 1000;
    let large = list(&said["inputs"]).iter().filter(|input| is_large(input)).count();
    assert!(large > 0 && large < tried, "both sides of the branch were tried: {said:#}");
    let directory = directory("causes-inputs-every");
    let text =
        says(&directory, &["causes", &corpus("path-dependent/batchsize/batchsize.c")], FINDING);
    assert!(text.contains(&format!("with all {tried} inputs tried")), "{text}");
}

#[test]
fn an_input_that_a_thread_asks_for_is_found_and_named_by_the_thread() {
    let said = causes_of("thread", "meterthread/meterthread.c", FINDING);
    assert_eq!(seen_with(&said, &said["classes"][0]), [99999]);
    let needed = &said["inputs"][said["classes"][0]["inputs"][0].as_u64().expect("one") as usize];
    assert_eq!(needed["values"][0]["what"], "nondet value 1 of T0.1");
}

#[test]
fn an_input_with_which_every_schedule_fails_is_sequential() {
    let directory = directory("causes-inputs-sequential");
    write(&directory, "zero.c", &locked("", "assert(total == 1 && k != 1234);"));
    let said = answer(&directory, &["causes", "--json", "zero.c"], FINDING);
    assert_eq!(said["verdict"], "sequential", "{said:#}");
    let fails = list(&said["inputs"]).iter().filter(|input| input["every_schedule_fails"] == true);
    assert_eq!(fails.map(first_value).collect::<Vec<_>>(), [1234]);
    let text = says(&directory, &["causes", "zero.c"], FINDING);
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        words.contains("with the input 1234 (of 3 tried) it fails under every schedule"),
        "{text}"
    );
    let text = says(&directory, &["repair", "zero.c"], FINDING);
    assert!(text.contains("o repair: it fails under every schedule"), "{text}");
}

/// One input is sequential, another is not: both are told, and a repair is asked of the other only.
#[test]
fn a_sequential_input_does_not_hide_a_concurrent_one() {
    let directory = directory("causes-inputs-mixed");
    let before = "if (k == 77) { int seen = total; total = seen + 1; }";
    let after = "assert(k != 1234); assert(total == 1 + (k == 77));";
    write(&directory, "mixed.c", &locked(before, after));
    let said = answer(&directory, &["repair", "--json", "mixed.c"], FINDING);
    let causes = &said["causes"];
    assert_eq!(causes["verdict"], "concurrent", "{causes:#}");
    for class in list(&causes["classes"]) {
        assert_eq!(seen_with(causes, class), [77], "{class:#}");
    }
    let repairs = list(&said["repairs"]);
    assert!(!repairs.is_empty(), "{said:#}");
    let tried = list(&causes["inputs"]);
    let sequential =
        tried.iter().position(|input| first_value(input) == 1234).expect("it is found");
    for check in repairs.iter().flat_map(|repair| list(&repair["checks"])) {
        let inputs: Vec<u64> = list(&check["inputs"]).iter().filter_map(Value::as_u64).collect();
        assert_eq!(inputs.len(), tried.len() - 1, "all others: {check:#}");
        assert!(!inputs.contains(&(sequential as u64)), "{check:#}");
    }
}

/// That the reporter waits for the reset helps with the input that fails, and would wait for ever with all others.
#[test]
fn a_repair_has_to_stand_inputs_that_pass_without_it() {
    let directory = directory("causes-inputs-repair");
    let program = corpus("path-dependent/console/console.c");
    let said = answer(&directory, &["repair", "--json", "--most", "8", &program], FINDING);
    let repairs = list(&said["repairs"]);
    assert!(!repairs.is_empty(), "{said:#}");
    let tried = list(&said["causes"]["inputs"]).len();
    for check in repairs.iter().flat_map(|repair| list(&repair["checks"])) {
        assert_eq!(list(&check["inputs"]).len(), tried, "{check:#}");
    }
    for (number, repair) in repairs.iter().enumerate() {
        let name = format!("repaired-{number}.c");
        write(&directory, &name, repair["files"][0]["text"].as_str().expect("a text"));
        for input in ["--nondet=4711", "--nondet=1"] {
            let arguments = ["find", "--strategy", "exhaustive", "--time", "5s", input, &name];
            says(&directory, &arguments, NOTHING);
        }
    }
}

#[test]
fn given_values_are_kept() {
    let directory = directory("causes-inputs-given");
    let program = corpus("path-dependent/console/console.c");
    let said = answer(&directory, &["causes", "--json", "--nondet", "1", &program], NOTHING);
    assert!(list(&said["inputs"]).is_empty(), "{said:#}");
    assert_eq!(said["extent"]["fixed_inputs"], true);
}

#[test]
fn a_search_that_finds_nothing_names_the_hunt() {
    let directory = directory("causes-inputs-find");
    let program = corpus("path-dependent/console/console.c");
    let said = says(&directory, &["find", "--schedules", "200", &program], NOTHING);
    assert!(said.contains("for other inputs: unravel hunt"), "{said}");
}
