//! `unravel import`: what a user sees of a trace that another tool recorded.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;

const NOTHING: i32 = 0;
const ERROR: i32 = 2;

fn directory(test: &str) -> PathBuf {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("import").join(test);
    std::fs::create_dir_all(directory.join("counter")).expect("a directory for the test");
    directory
}

/// Two threads that increment a counter.
fn write_trace(directory: &Path) {
    let main = "<assertThread_fail>
counter.c@3:W-counter_1-0
$0$
counter.c@4:S-fork_1-0
counter.c@5:R-counter_1-0-0
counter.c@5:W-counter_1-0
$(Add w32 1 (ReadLSB w32 0 counter_1-0-0))$
counter.c@6:S-join_1-0
counter.c@7:R-counter_1-0-1
<path>
T0:(Slt (ReadLSB w32 0 counter_1-0-0) 9)
T0:(Eq false (Eq 2 (ReadLSB w32 0 counter_1-0-1)))
";
    let child = "counter.c@5:R-counter_1-1-0
counter.c@5:W-counter_1-1
$(Add w32 1 (ReadLSB w32 0 counter_1-1-0))$
";
    let write = |name: &str, text: &str| {
        std::fs::write(directory.join("counter").join(name), text).expect("writes")
    };
    write("T0", main);
    write("T1_0", child);
    write("T1_1", child);
}

fn unravel(directory: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_unravel"));
    command.args(arguments).current_dir(directory).stdin(Stdio::null());
    command.output().expect("unravel runs")
}

/// Standard output of a command that succeeds.
fn said(directory: &Path, arguments: &[&str]) -> String {
    let output = unravel(directory, arguments);
    let error = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(NOTHING), "{arguments:?}: {error}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// What a command that fails says.
fn complaint(directory: &Path, arguments: &[&str]) -> String {
    let output = unravel(directory, arguments);
    assert_eq!(output.status.code(), Some(ERROR), "{arguments:?}");
    // Long messages are wrapped for the terminal.
    let text = String::from_utf8_lossy(&output.stderr);
    text.split_whitespace().filter(|word| *word != "│").collect::<Vec<_>>().join(" ")
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|e| panic!("{e}: {text}"))
}

#[test]
fn an_imported_trace_is_shown_and_not_replayed() {
    let directory = directory("shown");
    write_trace(&directory);
    let import = ["import", "symbiosis", "counter", "-o", "counter.trace"];
    let text = said(&directory, &import);
    assert!(
        text.starts_with("imported counter: 2 threads, 11 events, 1 path condition\n"),
        "{text}"
    );
    assert!(text.contains("note: T1 has the paths 0, 1; 0 was read"), "{text}");
    assert!(text.contains("unravel trace show counter.trace"), "{text}");

    let shown = said(&directory, &["trace", "show", "counter.trace"]);
    for expected in [
        "The order between threads is unknown",
        "assertion: the recorded assertion fails at counter.c:7 in T0",
        "write counter := 0",
        "read counter = ?",
        "2 threads, 11 events, in an unknown order",
        "note: T1 has the paths",
    ] {
        assert!(shown.contains(expected), "'{expected}' is not in:\n{shown}");
    }
    let shown = json(&said(&directory, &["trace", "show", "counter.trace", "--json"]));
    assert_eq!(shown["run"]["order_known"], false);
    assert_eq!(shown["run"]["context_switches"], Value::Null);
    assert_eq!(shown["run"]["events"], 11);
    assert_eq!(shown["events"].as_array().map(Vec::len), Some(11));

    let refused = complaint(&directory, &["replay", "counter.trace"]);
    assert!(
        refused.contains("counter.trace was imported: there is no program to execute"),
        "{refused}"
    );
}

#[test]
fn the_summary_is_there_as_json() {
    let directory = directory("json");
    write_trace(&directory);
    let import = ["import", "symbiosis", "counter", "-o", "c.trace", "--path", "1=1", "--json"];
    let summary = json(&said(&directory, &import));
    let get = |key: &str| summary[key].clone();
    assert_eq!((get("threads"), get("events"), get("conditions")), (2.into(), 11.into(), 1.into()));
    assert_eq!(summary["program"], "counter");
    assert_eq!(summary["output"], "c.trace");
    assert_eq!(summary["notes"][0], "T1 has the paths 0, 1; 1 was read");
    assert_eq!(summary["outcome"]["kind"], "assertion");
}

#[test]
fn a_mistake_is_shown_with_file_and_line() {
    let directory = directory("mistake");
    write_trace(&directory);
    std::fs::write(directory.join("counter/T1_0"), "counter.c@5:X-y-1\n").expect("writes");
    let import = ["import", "symbiosis", "counter", "-o", "c.trace"];
    let message = complaint(&directory, &import);
    assert!(message.contains("counter/T1_0:1: 'X-y-1' is no event of this format"), "{message}");
    assert!(!directory.join("c.trace").exists());
    let message = complaint(&directory, &["import", "symbiosis", "nowhere", "-o", "c.trace"]);
    assert!(message.contains("cannot read nowhere"), "{message}");
}
