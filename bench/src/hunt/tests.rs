//! What the tables and the headline say of made-up hunts.

use serde_json::json;

use super::paper::{ROWS, Row};
use super::table::{bug_line, events, flows, headline, projection_line, twin_line};
use super::{Bug, Trial};
use xtask::corpus::Hunt;

fn row(program: &str) -> &'static Row {
    ROWS.iter().find(|row| row.program == program).expect("a row")
}

fn hunt(exposed: serde_json::Value, end: serde_json::Value) -> Hunt {
    let document = json!({
        "runs": { "passing": 100, "failing": 7, "distinct": 4 },
        "effort": { "attempts": 2, "observed": 4, "refused": [{ "count": 1 }, { "count": 2 }] },
        "exposed": exposed,
        "end": end,
        "seconds": 0.25,
    });
    serde_json::from_value(document).expect("a hunt")
}

/// A hunt that exposes something in this attempt.
fn exposing(how: &str, attempt: u64) -> Hunt {
    let projection = json!({ "failing": [1, 2, 3], "flows": [1], "all_flows": 12 });
    let exposed = json!([{
        "how": how,
        "attempt": attempt,
        "depth": 3,
        "traces": 1,
        "flipped": 5,
        "synthesised": 2,
        "derived": {
            "failing": { "events": 42 },
            "passing": { "run": { "events": 50 }, "projection": projection },
        },
        "trace": "exposed.trace",
        "seconds": 0.012,
    }]);
    hunt(exposed, json!({ "kind": "found" }))
}

fn exhausted() -> Hunt {
    hunt(json!([]), json!({ "kind": "exhausted" }))
}

fn trial(program: &str, found: Hunt, twin: Hunt) -> Trial {
    let bug = Bug { hunt: found, seconds: 1.5, confirmed: Ok(()) };
    Trial { row: row(program), bug: Ok(bug), twin: Ok(twin) }
}

/// The words of a line, without the rules between columns.
fn words(line: &str) -> Vec<&str> {
    line.split_whitespace().filter(|word| *word != "|").collect()
}

#[test]
fn a_line_has_the_thesis_figures_beside_ours() {
    let pool = trial("Pool", exposing("by-path", 2), exhausted());
    assert_eq!(
        words(&bug_line(&pool)),
        [
            "Pool", "198", "42", "50", "59", "4", "7", "4", "path", "path", "17", "3", "6", "2",
            "(5,4)", "(3,1)", "15", "5", "8", "2", "3", "1s", "12", "1.5", "yes"
        ]
    );
    assert_eq!(
        words(&projection_line(&pool)).join(" "),
        "Pool 34 of 73 1 of 12 123 of 198 3 of 42"
    );
    assert_eq!(words(&twin_line(&pool)), ["Pool", "4", "4", "2", "3", "0.2", "0", "exhausted"]);
    assert_eq!(pool.complaints(), [""; 0]);
}

#[test]
fn what_does_not_hold_is_said() {
    let slow = trial("Pool", exposing("by-path", 4), exhausted());
    assert_eq!(slow.complaints(), ["exposed in attempt 4, at most 3 are allowed"]);

    // A run that fails by itself was not hunted for.
    let plain = trial("Account", exposing("by-itself", 0), exhausted());
    assert_eq!(plain.complaints(), ["nothing was exposed (found)"]);

    let accused = trial("Account", exposing("by-schedule", 1), exposing("by-schedule", 1));
    assert_eq!(accused.complaints(), ["twin: fails by-schedule"]);

    let mut refuted = trial("Account", exposing("by-schedule", 1), exhausted());
    refuted.bug.as_mut().expect("a hunt").confirmed = Err("it does not replay".into());
    assert_eq!(refuted.complaints(), ["it does not replay"]);
    assert!(words(&bug_line(&refuted)).contains(&"NO"));
}

#[test]
fn another_kind_than_the_thesis_needs_a_note() {
    let same = trial("Account", exposing("by-schedule", 1), exhausted());
    assert_eq!(same.note(), None);
    let other = trial("Piper", exposing("by-schedule", 1), exhausted());
    assert!(other.note().expect("a note").contains("binder"));
    let unknown = trial("Account", exposing("by-path", 1), exhausted());
    assert!(unknown.note().expect("a note").contains("NOT EXPLAINED"));
}

#[test]
fn the_headline_counts_bugs_and_twins() {
    let gap = json!({ "kind": "stopped", "why": ["the time is up"], "left": 3 });
    let trials = [
        trial("Account", exposing("by-schedule", 1), exhausted()),
        trial("Pool", exposing("by-path", 4), hunt(json!([]), gap)),
        trial("ExMCR", exhausted(), exposing("by-path", 1)),
        trial("figure 5.1", exposing("by-path", 4), exhausted()),
    ];
    assert_eq!(
        headline(&trials),
        "hunt: 2 of 3 exposed, 1 within Cortex's attempts, slowest ExMCR 1.5 s, figure 5.1 in attempt 4 (at most 6); \
         3 of 4 twins silent, 2 exhausted"
    );
    assert!(twin_line(&trials[1]).ends_with("stopped: the time is up, 3 flips left"));
}

/// What the thesis says of its table 5.4: "83 % fewer data-flows and 50 % fewer events".
#[test]
fn the_rows_have_the_averages_that_the_thesis_names() {
    let all: Vec<_> =
        ROWS.iter().filter_map(|row| row.cortex).map(|cortex| cortex.conciseness).collect();
    let mean = |fewer: &dyn Fn(usize) -> f64| {
        let sum: f64 = (0..all.len()).map(fewer).sum();
        (sum / all.len() as f64 * 100.0).round()
    };
    assert_eq!(all.len(), 17);
    assert_eq!(mean(&|at| flows(all[at]).fewer()), 83.0);
    assert_eq!(mean(&|at| events(all[at]).fewer()), 50.0);
}
