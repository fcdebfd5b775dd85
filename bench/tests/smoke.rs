//! Every benchmark still runs: with `--smoke` it does the least that goes through all of its code and all of its checks.
//!
//! Each must say that all is well, by its exit code and in its headline. No figure of time is looked at, since the machine
//! may have other work.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The last line of a smoke run, which must succeed.
fn headline(arguments: &[&str]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_unravel-bench"));
    command.args(arguments).arg("--smoke").stdin(Stdio::null());
    let output = command.output().expect("the benchmarks start");
    let (text, errors) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert_eq!(output.status.code(), Some(0), "{arguments:?}\n{text}\n{errors}");
    text.lines().last().unwrap_or_default().to_owned()
}

/// The headline of a smoke run begins and ends so; between the two are figures of time.
fn check(arguments: &[&str], start: &str, end: &str) {
    let line = headline(arguments);
    assert!(line.starts_with(start) && line.ends_with(end), "{arguments:?}: {line}");
}

#[test]
fn vm() {
    check(&["vm"], "vm: ", " slower than native -O0");
}

#[test]
fn record() {
    let line = headline(&["record"]);
    assert!(line.starts_with("record: flight ") && line.contains("; control "), "{line}");
}

#[test]
fn search() {
    check(&["search"], "search: portfolio finds 1 of 1, geometric mean ", ")");
}

#[test]
fn classes() {
    check(&["classes"], "classes: ", " searches with no class more than needed, 0 wrong answers");
}

#[test]
fn rebuild() {
    check(
        &["rebuild"],
        "rebuild: of 1 programs that failed natively 1 are confirmed from the log alone, 0 more",
        " as another failure",
    );
}

#[test]
fn explain() {
    check(
        &["explain"],
        "explain: 1 of 1 confirmed, slowest atomicity/account ",
        " s after its search",
    );
}

#[test]
fn length() {
    check(&["length"], "length: 2 of 2 explained as the lost update within their bounds, ", " s");
}

#[test]
fn simplify() {
    check(
        &["simplify"],
        "simplify: 1 of 1 traces within 1 switch of the proved optimum, 1 proved, ",
        " executions",
    );
}

#[test]
fn diagnose() {
    let imported = imported("diagnose");
    let imported = imported.to_str().expect("a path in UTF-8");
    let line = headline(&["diagnose", "--trace", imported]);
    let counts: Vec<&str> = line.split_whitespace().skip(1).take(4).collect();
    assert!(
        matches!(counts[..], [of, "of", all, "confirmed,"] if of == all && all != "0"),
        "{line}"
    );
    assert!(line.contains("; 1 of 1 imported modelled; longest generated "), "{line}");
}

#[test]
fn causes() {
    check(&["causes"], "causes: 1 of 1 complete, all cores minimal, ", "; 1 causes (paper 2)");
}

#[test]
fn repairs() {
    check(
        &["causes", "--repairs"],
        "repairs: 1 of the paper's 1, 0 of 0 others (100 %)",
        "; 0 shown repairs failed 2,000 schedules",
    );
}

#[test]
fn hunt() {
    check(
        &["hunt"],
        "hunt: 1 of 1 exposed, 1 within Cortex's attempts, slowest Account ",
        " s; 1 of 1 twins silent, 1 exhausted",
    );
}

#[test]
fn coop() {
    check(&["coop"], "coop: replayed 1 of 1", "");
}

#[test]
fn coop_native() {
    check(&["coop", "--native"], "coop native: bare: full ", " times plain");
}

/// The first row of a table; its claims have to hold of it.
#[test]
fn evaluate() {
    check(
        &["evaluate", "--table", "concbugassist", "--quick"],
        "evaluate: 4 of 4 claims hold in 1 tables, ",
        " s",
    );
}

#[test]
fn solve() {
    check(&["solve"], "solve: 16 questions, ", "0 wrong answers");
}

/// A benchmark that cannot be carried out fails, in a smoke run too.
#[test]
fn nothing_to_measure_is_an_error() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_unravel-bench"));
    let output = command.args(["hunt", "no-such-case", "--smoke"]).output().expect("it starts");
    assert_eq!(output.status.code(), Some(2));
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(errors.starts_with("error: no corpus case has 'no-such-case'"), "{errors}");
}

/// A folder with a trace of Symbiosis: two threads increment a counter, and one increment is lost.
fn imported(test: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("smoke").join(test).join("counter");
    std::fs::create_dir_all(&folder).expect("a folder for the test");
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
    for (name, text) in [("T0", main), ("T1_0", child)] {
        std::fs::write(folder.join(name), text).expect("a file of the trace");
    }
    folder
}
