//! Cooperative logs from end to end: a fleet logs parts, they are put together, and the trace that comes of it replays.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

fn corpus(source: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus").join(source)
}

fn unravel(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_unravel"));
    let output = command.args(arguments).current_dir(folder).stdin(Stdio::null()).output();
    output.expect("unravel runs")
}

fn json(output: &Output) -> serde_json::Value {
    serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&output.stderr)))
}

#[test]
fn a_fleet_of_partial_logs_becomes_a_trace_that_replays() {
    let folder = tempfile::tempdir().expect("a folder");
    let source = corpus("real/weblech/weblech.c").display().to_string();
    let run = |arguments: &[&str]| unravel(folder.path(), arguments);
    let made = json(&run(&["coop", "profile", "--coverage", "75%", "--json", &source]));
    assert_eq!(made["elements"].as_array().map(Vec::len), Some(5), "{made}");
    let recorded = json(&run(&["coop", "record", "--runs", "3", "--json", &source]));
    assert_eq!(recorded["logs"], 600);
    assert!(recorded["failed"].as_u64().is_some_and(|failed| failed > 0), "{recorded}");
    let ingested = json(&run(&["coop", "ingest", "--json", "logs"]));
    assert_eq!((&ingested["taken"], &ingested["known"]), (&600.into(), &0.into()));
    let again = json(&run(&["coop", "ingest", "--json", "logs"]));
    assert_eq!((&again["taken"], &again["known"]), (&0.into(), &600.into()));
    let analysed = json(&run(&["coop", "analyse", "--heuristic", "sgm", "--json", "fleet"]));
    assert_eq!(
        analysed["ranked"].as_array().map(Vec::len),
        recorded["failed"].as_u64().map(|n| n as usize)
    );
    // The paper's way, no holes filled.
    let output = run(&["coop", "replay", "--fill", "0", "--json", &source]);
    let replayed = json(&output);
    assert_eq!(output.status.code(), Some(1), "{replayed}");
    assert!(
        replayed["replayed"]["attempt"].as_u64().is_some_and(|attempt| attempt <= 20),
        "{replayed}"
    );
    let trace = replayed["trace"].as_str().expect("a trace");
    assert_eq!(run(&["replay", trace]).status.code(), Some(1), "it fails again");
}

/// One element a log is not enough to merge; with the paths of its run the rest is filled in. Without paths nothing is claimed.
#[test]
fn what_a_log_lacks_is_filled_in_along_its_paths() {
    let folder = tempfile::tempdir().expect("a folder");
    let source = corpus("atomicity/bubblesort/bubblesort.c").display().to_string();
    let run =
        |arguments: &[&str]| unravel(folder.path(), &[arguments, &[&source, "--", "8"]].concat());
    run(&["coop", "profile", "--coverage", "1", "--instances", "60"]);
    let recorded = json(&run(&["coop", "record", "--random", "--paths", "paths", "--json"]));
    assert!(recorded["failed"].as_u64().is_some_and(|failed| failed > 5), "{recorded}");
    unravel(folder.path(), &["coop", "ingest", "logs"]);
    let merged = run(&["coop", "replay", "--fill", "0", "--attempts", "50", "--json"]);
    assert_eq!(merged.status.code(), Some(3), "{}", String::from_utf8_lossy(&merged.stdout));
    let output = run(&["coop", "replay", "--paths", "paths", "--attempts", "10", "--json"]);
    let filled = json(&output);
    assert_eq!(output.status.code(), Some(1), "{filled}");
    assert_eq!(filled["along_paths"], true, "{filled}");
    assert_eq!(filled["replayed"]["sources"].as_array().map(Vec::len), Some(1), "{filled}");
    let trace = filled["trace"].as_str().expect("a trace");
    assert_eq!(unravel(folder.path(), &["replay", trace]).status.code(), Some(1), "it fails again");
    let output = run(&["coop", "replay", "--paths", "nowhere"]);
    let text = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(3), "{text}");
    assert!(text.contains("there are no paths of these logs"), "{text}");
}

#[test]
fn where_nothing_failed_nothing_is_claimed() {
    let folder = tempfile::tempdir().expect("a folder");
    let source = corpus("real/weblech/fixed.c").display().to_string();
    let output = unravel(folder.path(), &["coop", "demo", "--instances", "20", &source]);
    let text = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{text}");
    assert!(text.contains("none of 20 logs failed"), "{text}");
}

#[test]
fn the_profile_of_another_program_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let (one, other) = (corpus("real/weblech/weblech.c"), corpus("deadlock/deadlock/deadlock.c"));
    let (one, other) = (one.display().to_string(), other.display().to_string());
    assert_eq!(unravel(folder.path(), &["coop", "profile", &one]).status.code(), Some(0));
    let refused = unravel(folder.path(), &["coop", "record", &other]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(
        String::from_utf8_lossy(&refused.stderr).contains("is not the profile of this program")
    );
}
