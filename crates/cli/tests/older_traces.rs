//! Traces that an older unravel wrote: what somebody kept still replays.

mod support;

use std::fs;
use std::path::Path;

use serde_json::Value;

use support::{FINDING, directory, says};

#[test]
fn a_trace_of_format_5_replays_to_the_same_failure() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let directory = directory("older-5");
    let program = here.join("tests/data/version5.c");
    let program = program.to_str().expect("a path in UTF-8");
    fs::copy(here.join("../files/tests/data/version5.trace"), directory.join("old.trace"))
        .expect("the trace is there");
    let said = says(&directory, &["replay", "old.trace", "--program", program, "--json"], FINDING);
    let replay: Value = serde_json::from_str(&said).expect("replay prints JSON");
    assert_eq!(replay["same"], true, "{said}");
    // Trace and program moved together.
    fs::copy(program, directory.join("version5.c")).expect("the program is there");
    let said = says(&directory, &["replay", "old.trace"], FINDING);
    assert!(said.contains("'total == 2' failed"), "{said}");
    assert!(said.contains("the same run"), "{said}");
}
