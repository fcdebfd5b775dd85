//! `unravel explain` goes on with all causes and repairs.

mod support;

use std::path::{Path, PathBuf};

use serde_json::Value;
use support::{FINDING, NOTHING, corpus, directory, says, write};

/// A directory with a copy of a program of the corpus, as a user has it.
fn copied(test: &str, program: &str) -> (PathBuf, String) {
    let directory = directory(&format!("explain-repairs-{test}"));
    let original = PathBuf::from(corpus(program));
    let name = original.file_name().expect("a file").to_string_lossy().into_owned();
    write(&directory, &name, &std::fs::read_to_string(&original).expect("it is text"));
    (directory, name)
}

fn read(directory: &Path, name: &str) -> String {
    std::fs::read_to_string(directory.join(name)).unwrap_or_else(|e| panic!("{name}: {e}"))
}

fn read_json(directory: &Path, name: &str) -> Value {
    serde_json::from_str(&read(directory, name)).expect("JSON")
}

/// What every report has to say of the best repair. Returns that repair.
fn assert_told(directory: &Path, source: &str, text: &str) -> Value {
    let program = source.trim_end_matches(".c");
    let out = directory.join("unravel-out");
    let said = read_json(&out, &format!("{program}.json"));
    let classes = said["causes"]["classes"].as_array().expect("causes");
    assert!(!classes.is_empty(), "{}", said["causes"]);
    assert_eq!(said["causes"]["extent"]["complete"], true, "{}", said["causes"]["extent"]);
    assert_eq!(said["bugs"][0]["causes"].as_array(), Some(classes), "they lead to the only bug");
    let best = &said["repairs"][0];
    let diff = best["diff"].as_str().expect("a diff");
    assert_eq!(read(&out, &format!("{program}-repair-1.diff")), diff);
    let page = read(&out, &format!("{program}.html"));
    assert!(page.contains("id=\"cause-1\"") && page.contains("id=\"repair-1\""));
    let fix = &read_json(&out, &format!("{program}.sarif"))["runs"][0]["results"][0]["fixes"][0];
    assert_eq!(fix["artifactChanges"][0]["artifactLocation"]["uri"], source, "{fix}");

    let apply = format!("  apply      patch -p1 < unravel-out/{program}-repair-1.diff\n");
    for words in [" interleavings fail", " +", &apply] {
        assert!(text.contains(words), "{words} is missing in:\n{text}");
    }
    let (repair, found) = (text.find("\nRepair: "), text.find(": 1 bug found in "));
    assert!(repair.is_some() && repair < found, "the summary comes last:\n{text}");
    best.clone()
}

/// The repaired program passes; it is told without causes and repairs.
fn assert_repaired(directory: &Path, source: &str, repair: &Value) {
    write(directory, source, repair["files"][0]["text"].as_str().expect("the patched file"));
    let text = says(directory, &["explain", source, "--schedules", "2000"], NOTHING);
    assert!(!text.contains("Repair") && !text.contains("cause"), "{text}");
}

#[test]
fn a_list_gets_a_lock() {
    let (directory, source) = copied("list", "atomicity/list_seq/list_seq.c");
    let text = says(&directory, &["explain", &source], FINDING);
    let best = assert_told(&directory, &source, &text);
    assert_eq!(best["kind"], "new-lock", "{best}");
    assert!(text.contains("\nRepair: new lock\n"), "{text}");
    assert_repaired(&directory, &source, &best);
}

#[test]
fn a_use_before_initialisation_gets_an_order() {
    let (directory, source) = copied("order", "real/transmission-1.42/transmission-1.42.c");
    let text = says(&directory, &["explain", &source], FINDING);
    let best = assert_told(&directory, &source, &text);
    let kind = best["kind"].as_str().expect("a kind");
    assert!(["moved-statement", "enforced-order"].contains(&kind), "{best}");
    assert_repaired(&directory, &source, &best);
}

#[test]
fn no_time_for_repairs_leaves_causes_and_repairs_out() {
    let (directory, source) = copied("none", "atomicity/list_seq/list_seq.c");
    let text = says(&directory, &["explain", &source, "--repair-time", "0s"], FINDING);
    assert!(!text.contains("Repair") && !text.contains("classes of schedules fail"), "{text}");
    let out = directory.join("unravel-out");
    let said = read_json(&out, "list_seq.json");
    for field in ["causes", "repairs"] {
        assert_eq!(said[field], Value::Null);
        assert_eq!(said["bugs"][0][field], Value::Null);
    }
    assert!(!out.join("list_seq-repair-1.diff").exists());
    assert!(!read(&out, "list_seq.html").contains("id=\"repair-1\""));
}

#[test]
fn quiet_says_no_more_than_before() {
    let (directory, source) = copied("quiet", "atomicity/list_seq/list_seq.c");
    let with = says(&directory, &["explain", "-q", &source], FINDING);
    let without = says(&directory, &["explain", "-q", &source, "--repair-time", "0s"], FINDING);
    assert_eq!(with, without);
}
