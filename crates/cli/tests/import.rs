//! `unravel import`: what a user sees of a trace that another tool recorded.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;

const NOTHING: i32 = 0;
const FINDING: i32 = 1;
const ERROR: i32 = 2;

fn directory(test: &str) -> PathBuf {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("import").join(test);
    let _ = std::fs::remove_dir_all(&directory);
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
    assert!(
        text.contains("all paths are kept in counter.db, for diagnose: 2 recordings"),
        "{text}"
    );
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
    assert_eq!(summary["database"], serde_json::json!({ "directory": "c.db", "runs": 2 }));
}

/// Two threads of which each counts if the other does not: `0` that T1 came first, `1` that T2 did.
fn write_executions(folder: &Path) {
    std::fs::create_dir_all(folder.join("more")).expect("a folder");
    let main = "<assertThread_ok>
a.java@1:W-a_1-0-1
$0$
a.java@2:W-b_2-0-1
$0$
a.java@3:W-sum_3-0-1
$0$
a.java@4:S-fork_1-0
a.java@5:S-fork_1.1-0
a.java@6:S-join_1-0
a.java@7:S-join_1.1-0
a.java@8:R-sum_3-0-1
branch-0
<pathjpf>
T0:(R-sum_3-0-1 < CONST_2)
pathid-11
";
    let side = |id: &str, own: &str, other: &str, counts: bool| {
        let count = "a.java@11:S-lock_9-ID\na.java@12:R-sum_3-ID-1\na.java@12:W-sum_3-ID-1\n$(R-sum_3-ID-1 + CONST_1)$\na.java@13:S-unlock_9-ID\n";
        let (count, test, path) = if counts { (count, "==", "11") } else { ("", "!=", "10") };
        format!(
            "a.java@10:R-OTHER-ID-1\nbranch-ID\n{count}a.java@14:W-OWN-ID-1\n$1$\n<pathjpf>\nTID:(R-OTHER-ID-1 {test} CONST_0)\npathid-{path}\n"
        )
        .replace("ID", id)
        .replace("OTHER", other)
        .replace("OWN", own)
    };
    let write = |name: &str, text: &str| std::fs::write(folder.join(name), text).expect("writes");
    write("T0_-5_1", main);
    write("T1_-5_11", &side("1", "a_1", "b_2", true));
    write("T1.1_-5_10", &side("1.1", "b_2", "a_1", false));
    write("more/T1.1_7_11", &side("1.1", "b_2", "a_1", true));
}

#[test]
fn a_failure_on_paths_of_two_executions_is_diagnosed() {
    let directory = directory("executions");
    write_executions(&directory.join("both"));
    let text = said(&directory, &["import", "symbiosis", "both", "-o", "both.trace"]);
    assert!(text.contains("all paths are kept in both.db, for diagnose: 2 recordings"), "{text}");
    let stats = said(&directory, &["db", "stats", "both.db"]);
    assert!(stats.contains("2 traces on 2 paths"), "{stats}");

    let found = |arguments: &[&str]| {
        let output = unravel(&directory, arguments);
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(FINDING), "{error}");
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    let diagnosis = json(&found(&["diagnose", "both.trace", "--json"]));
    assert_eq!(diagnosis["status"]["kind"], "modelled");
    let alternate = &diagnosis["alternates"][0];
    assert_eq!(
        (&alternate["found_by"], &alternate["same_path"]),
        (&"recorded".into(), &false.into())
    );
    let shown = found(&["diagnose", "both.trace", "--db", "both.db"]);
    assert!(shown.contains("paths of several were put together"), "{shown}");

    // Without the database there is only one execution, which cannot fail.
    std::fs::create_dir_all(directory.join("alone")).expect("a folder");
    std::fs::copy(directory.join("both.trace"), directory.join("alone/one.trace")).expect("copies");
    let message = complaint(&directory, &["diagnose", "alone/one.trace"]);
    assert!(message.contains("no order of the recorded steps fails"), "{message}");
    // A database of something else is not taken for its own.
    write_trace(&directory);
    said(&directory, &["import", "symbiosis", "counter", "-o", "counter.trace"]);
    let message = complaint(&directory, &["diagnose", "both.trace", "--db", "counter.db"]);
    assert!(message.contains("counter.db was not imported with both.trace"), "{message}");
}

#[test]
fn the_failing_thread_can_be_named() {
    let directory = directory("failing");
    write_trace(&directory);
    let path = directory.join("counter/T0");
    let text = std::fs::read_to_string(&path).expect("reads");
    std::fs::write(&path, text.replace("<assertThread_fail>\n", "")).expect("writes");
    let import = ["import", "symbiosis", "counter", "-o", "c.trace"];
    let message = complaint(&directory, &import);
    assert!(message.contains("--failing"), "{message}");
    said(&directory, &[&import[..], &["--failing", "T0"]].concat());
    let message = complaint(&directory, &[&import[..], &["--failing", "zero"]].concat());
    assert!(message.contains("a number such as 2 or 1.3 expected"), "{message}");
    let message = complaint(&directory, &[&import[..], &["--execution", "-4"]].concat());
    assert!(message.contains("there is no execution -4"), "{message}");
}

#[test]
fn a_mistake_is_shown_with_file_and_line() {
    let directory = directory("mistake");
    write_trace(&directory);
    std::fs::write(directory.join("counter/T1_0"), "counter.c@5:S-grab_y-1\n").expect("writes");
    let import = ["import", "symbiosis", "counter", "-o", "c.trace"];
    let message = complaint(&directory, &import);
    let expected = "counter/T1_0:1: 'S-grab_y-1' is no event of this format";
    assert!(message.contains(expected), "{message}");
    assert!(!directory.join("c.trace").exists());
    let message = complaint(&directory, &["import", "symbiosis", "nowhere", "-o", "c.trace"]);
    assert!(message.contains("cannot read nowhere"), "{message}");
}
