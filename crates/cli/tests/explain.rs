//! `unravel explain`: what a user sees and finds in the files.

mod support;

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use serde_json::Value;
use support::{FINDING, INCONCLUSIVE, NOTHING, corpus, directory, ended, says, unravel, write};

/// Two threads that may lose two updates, each with an assertion of its own.
const TWO_BUGS: &str = r#"
#include <assert.h>
#include <pthread.h>
static int apples, pears;
static void *add(void *arg)
{
    apples = apples + 1;
    pears = pears + 1;
    return arg;
}
int main(void)
{
    pthread_t a, b;
    pthread_create(&a, NULL, add, NULL);
    pthread_create(&b, NULL, add, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    assert(apples == 2);
    assert(pears == 2);
    return 0;
}
"#;
const APPLES: &str = "two.c:18";
const PEARS: &str = "two.c:19";
/// Repairs have tests of their own, in `explain_repairs.rs`.
const NO_REPAIRS: &str = "--repair-time=0s";

fn two_bugs(test: &str) -> std::path::PathBuf {
    let directory = directory(test);
    write(&directory, "two.c", TWO_BUGS);
    directory
}

fn json(directory: &Path, arguments: &[&str], code: i32) -> Value {
    serde_json::from_str(&says(directory, arguments, code)).expect("JSON")
}

fn read(directory: &Path, name: &str) -> String {
    std::fs::read_to_string(directory.join(name)).unwrap_or_else(|e| panic!("{name}: {e}"))
}

#[test]
fn the_bank_is_explained_on_one_screen() {
    let directory = directory("explain-bank");
    let bank = corpus("atomicity/bank/bank.c");
    let text = says(&directory, &["explain", &bank, NO_REPAIRS], FINDING);
    assert!(text.lines().count() <= 45, "{} lines:\n{text}", text.lines().count());
    let widest = text.lines().max_by_key(|line| line.chars().count()).unwrap_or_default();
    assert!(widest.chars().count() <= 100, "{widest}");
    assert!(!text.contains('\x1b'), "no colours where nobody looks");
    for words in [
        "✗ assertion 'accountsTotal == BankTotal' failed",
        "confirmed by execution; sequential consistency",
        "Root cause: lost update",
        "┌─ bank.c:53  int total = BankTotal;",
        "└─ bank.c:54  BankTotal = total + amount;",
        "should be atomic",
        "in full    unravel diagnose unravel-out/bank-assertion-1.trace",
        "replay     unravel replay unravel-out/bank-assertion-1.trace",
        "page       unravel-out/bank.html",
    ] {
        assert!(text.contains(words), "{words} is missing in:\n{text}");
    }
    let full = says(&directory, &["explain", &bank, NO_REPAIRS, "--verbose"], FINDING);
    for words in ["Root cause: lost update", "(proved minimal)", "lines to look at"] {
        assert!(full.contains(words), "{words} is missing in:\n{full}");
    }
    let replayed = says(&directory, &["replay", "unravel-out/bank-assertion-1.trace"], FINDING);
    assert!(replayed.contains("4 context switches"), "the simplified schedule: {replayed}");
    let passing = "unravel-out/bank-assertion-1.passing.trace";
    assert!(says(&directory, &["replay", passing], NOTHING).contains("the same run"));
    for (file, end) in [("bank.html", "</html>"), ("bank-assertion-1.dot", "}")] {
        assert!(read(&directory.join("unravel-out"), file).trim_end().ends_with(end), "{file}");
    }
}

#[test]
fn several_bugs_give_several_sections() {
    let directory = two_bugs("explain-several");
    let text = says(&directory, &["explain", "two.c", NO_REPAIRS], FINDING);
    for words in ["Bug 1 of 2", "Bug 2 of 2", "apples", "pears", "two: 2 bugs found in"] {
        assert!(text.contains(words), "{words} is missing in:\n{text}");
    }
    let said = json(&directory, &["explain", "two.c", "--json", NO_REPAIRS], FINDING);
    let bugs = said["bugs"].as_array().expect("bugs");
    assert_eq!(bugs.len(), 2);
    for bug in bugs {
        assert_eq!(bug["diagnosis"]["status"]["kind"], "confirmed");
        assert_eq!(bug["same_cause_as"], Value::Null, "the causes are in other lines");
        assert!(bug["found"]["times"].as_u64() >= Some(1));
    }
    let file: Value =
        serde_json::from_str(&read(&directory, "unravel-out/two.json")).expect("JSON");
    assert_eq!(file["bugs"], said["bugs"]);
    let sarif: Value =
        serde_json::from_str(&read(&directory, "unravel-out/two.sarif")).expect("SARIF");
    assert_eq!(sarif["runs"][0]["results"].as_array().map(Vec::len), Some(2));
    let brief = says(&directory, &["explain", "two.c", "--quiet", NO_REPAIRS], FINDING);
    assert_eq!(brief.lines().count(), 2, "{brief}");
    assert!(brief.contains("assertion at two.c:18  unravel replay"), "{brief}");
}

#[test]
fn annotations_stand_beside_the_code() {
    let directory = two_bugs("explain-annotations");
    let arguments = ["explain", "two.c", "--quiet", "--annotations", NO_REPAIRS];
    let text = says(&directory, &arguments, FINDING);
    let errors: Vec<&str> = text.lines().filter(|l| l.starts_with("::error ")).collect();
    assert_eq!(errors.len(), 2, "{text}");
    assert!(errors[0].contains("file=two.c,line=18"), "{text}");
}

#[test]
fn known_bugs_are_put_aside_and_named() {
    let suppress = |site: &str| {
        format!("[[suppress]]\nkind = \"assertion\"\nsite = \"{site}\"\nreason = \"ticket 17\"\n")
    };
    let directory = two_bugs("explain-known");
    write(&directory, "unravel.toml", &suppress(APPLES));
    let said = json(&directory, &["explain", "two.c", "--json", NO_REPAIRS], FINDING);
    let bugs = said["bugs"].as_array().expect("bugs");
    assert_eq!(bugs.len(), 1, "only the new one: {said}");
    assert_eq!(bugs[0]["bug"], format!("assertion at {PEARS}"));
    assert!(said["put_aside"][0]["times"].as_u64() >= Some(1), "{said}");
    assert_eq!(said["put_aside"][0]["reason"], "ticket 17");

    let limits = ["explain", "two.c", "--schedules", "500", NO_REPAIRS];
    write(&directory, "unravel.toml", &(suppress(APPLES) + &suppress(PEARS)));
    let text = says(&directory, &limits, NOTHING);
    assert!(text.contains("no other failure: all"), "{text}");
    let aside: Vec<&str> = text.lines().filter(|l| l.starts_with("put aside: ")).collect();
    assert!(matches!(aside.as_slice(), [a, b] if a.contains("ticket 17") && b.contains(PEARS)));

    write(&directory, "unravel.toml", &suppress("two.c"));
    says(&directory, &limits, NOTHING);
    write(&directory, "unravel.toml", &suppress("other.c:1"));
    let text = says(&directory, &limits, FINDING);
    assert!(text.contains("assertion at other.c:1, not seen (ticket 17)"), "{text}");
}

#[test]
fn nothing_found_says_what_was_explored_and_how_to_look_further() {
    let directory = directory("explain-nothing");
    let fixed = corpus("atomicity/bank/fixed.c");
    let text = says(&directory, &["explain", &fixed, "--schedules", "60"], NOTHING);
    for words in ["no failure found in", "up to 3 threads", "look further with --time 5m", ".html"]
    {
        assert!(text.contains(words), "{words} is missing in:\n{text}");
    }
    assert!(read(&directory, "unravel-out/fixed.html").contains("no failure found"));
}

#[test]
fn a_bug_of_every_schedule_is_told_without_a_cause() {
    let directory = directory("explain-always");
    let program = TWO_BUGS.replace("assert(apples == 2)", "assert(apples == 5)");
    write(&directory, "two.c", &program);
    let said = json(&directory, &["explain", "two.c", "--json"], FINDING);
    assert_eq!(said["bugs"][0]["diagnosis"]["status"]["kind"], "inconclusive", "{said}");
    assert_eq!(said["repairs"], Value::Null, "no order of events helps: {said}");
    let text = says(&directory, &["explain", "two.c"], FINDING);
    assert!(text.contains("inconclusive because"), "{text}");
}

#[test]
fn an_interrupted_search_tells_what_it_knows() {
    let directory = directory("explain-interrupted");
    // Ten critical sections have more orders than can be tried.
    let fixed = corpus("order/reorder_10/fixed.c");
    let arguments = ["explain", &fixed, "--time", "120s"];
    let mut command = unravel(&directory, &arguments);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
    // Long enough to compile the program and to begin.
    std::thread::sleep(Duration::from_secs(3));
    // SAFETY: a signal to our own child.
    unsafe { libc::kill(child.id() as i32, libc::SIGINT) };
    let output = child.wait_with_output().expect("it ends");
    let text = ended(&output, &arguments, INCONCLUSIVE);
    assert!(text.contains("interrupted; what was found is kept"), "{text}");
    assert!(text.contains("no failure found in"), "{text}");
}

#[test]
fn an_interrupted_diagnosis_keeps_what_was_found() {
    let directory = directory("explain-interrupted-diagnosis");
    let sources: Vec<String> = ["pfscan", "walk", "scan", "search", "report", "pqueue"]
        .map(|name| corpus(&format!("real/pfscan/{name}.c")))
        .to_vec();
    let data = corpus("real/pfscan/data");
    let mut arguments = vec!["explain"];
    arguments.extend(sources.iter().map(String::as_str));
    arguments.extend(["--", "-l", "-n", "3", "mutex", &data]);
    let mut command = unravel(&directory, &arguments);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
    let trace = directory.join("unravel-out/pfscan-assertion-1.trace");
    while !trace.exists() {
        std::thread::sleep(Duration::from_millis(10));
    }
    // SAFETY: a signal to our own child.
    unsafe { libc::kill(child.id() as i32, libc::SIGINT) };
    let output = child.wait_with_output().expect("it ends");
    let text = ended(&output, &arguments, FINDING);
    assert!(text.contains("assertion 'qp->filled > 0' failed"), "{text}");
    assert!(text.contains("unravel replay unravel-out/pfscan-assertion-1.trace"), "{text}");
    says(&directory, &["replay", "unravel-out/pfscan-assertion-1.trace"], FINDING);
}

#[test]
fn colours_are_as_asked() {
    let directory = two_bugs("explain-colours");
    let is_coloured = |when: &[&str], variable: Option<&str>| {
        let arguments = [&["explain", "two.c", NO_REPAIRS], when].concat();
        let mut command = unravel(&directory, &arguments);
        command.envs(variable.map(|name| (name, "1")));
        let output = command.output().expect("unravel runs");
        ended(&output, &arguments, FINDING).contains('\u{1b}')
    };
    // Nobody looks at a pipe: there are none unless somebody asks.
    assert!(!is_coloured(&[], None));
    assert!(is_coloured(&[], Some("CLICOLOR_FORCE")));
    assert!(is_coloured(&["--color", "always"], Some("NO_COLOR")), "the flag comes first");
    assert!(!is_coloured(&["--color=never"], Some("CLICOLOR_FORCE")));
}
