//! `unravel diagnose`: what a user sees, also where there is nothing to diagnose or the tool has to give up.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;

const NOTHING: i32 = 0;
const FINDING: i32 = 1;
const ERROR: i32 = 2;
const INCONCLUSIVE: i32 = 3;

/// Two threads that add to a counter; an update may get lost. The main thread says what it expects.
const COUNTER: &str = r#"
#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
static int counter;
static void *add(void *arg)
{
    int seen = counter; // READ
    counter = seen + 1; // WRITE
    return arg;
}
int main(void)
{
    pthread_t a, b;
    pthread_create(&a, NULL, add, NULL);
    pthread_create(&b, NULL, add, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    END
}
"#;

/// That program with this end.
fn counter(end: &str) -> String {
    COUNTER.replace("END", end)
}

/// A directory of one test's own.
fn directory(test: &str) -> PathBuf {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("diagnose").join(test);
    std::fs::create_dir_all(&directory).expect("a directory for the test");
    directory
}

fn write<'n>(test: &str, name: &'n str, content: &str) -> &'n str {
    std::fs::write(directory(test).join(name), content).expect("the file is written");
    name
}

fn unravel(directory: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_unravel"));
    command.args(arguments).current_dir(directory).stdin(Stdio::null());
    command.output().expect("unravel runs")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Runs a command that ends with this exit code; standard output and error.
fn says(directory: &Path, arguments: &[&str], code: i32) -> (String, String) {
    let output = unravel(directory, arguments);
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(code), "{arguments:?}: {out}{err}");
    assert!(!err.contains("panicked"), "{err}");
    (out, err)
}

/// Words of a message, however it was wrapped.
fn words(text: &str) -> String {
    text.split_whitespace().filter(|word| *word != "│").collect::<Vec<_>>().join(" ")
}

/// Finds the bug of a program; the trace.
fn find(test: &str, program: &str, flags: &[&str]) -> String {
    let arguments = [&["find", program, "--json", "--jobs", "1", "--out", "out"], flags].concat();
    let (out, _) = says(&directory(test), &arguments, FINDING);
    let last = out.lines().last().unwrap_or_default();
    let json: Value = serde_json::from_str(last).expect("JSON");
    json["findings"][0]["trace"].as_str().expect("a trace").to_owned()
}

fn diagnose(test: &str, trace: &str, flags: &[&str], code: i32) -> Value {
    let arguments = [&["diagnose", trace, "--json"], flags].concat();
    let (out, err) = says(&directory(test), &arguments, code);
    assert_eq!(out.lines().count(), 1, "one line: {out}");
    serde_json::from_str(&out).unwrap_or_else(|error| panic!("{error}: {out}{err}"))
}

/// A trace of that program, found.
fn lost_update(test: &str) -> String {
    let program = write(test, "counter.c", &counter("assert(counter == 2);"));
    find(test, program, &[])
}

#[test]
fn a_lost_update_is_told_with_its_lines() {
    let test = "told";
    let trace = lost_update(test);
    let (out, err) = says(&directory(test), &["diagnose", &trace], FINDING);
    for said in ["confirmed by execution", "lost update", "counter.c:9", "counter.c:10", &trace] {
        assert!(out.contains(said), "'{said}' is not in:\n{out}");
    }
    assert_eq!(err, "", "nothing on standard error");
    let json = diagnose(test, &trace, &[], FINDING);
    assert_eq!(json["status"]["kind"], "confirmed");
    assert_eq!(json["alternates"][0]["run"]["outcome"]["kind"], "exited");
    assert_eq!(json["alternates"][0]["distance"]["data_flow"], 1);
    assert_eq!(json["alternates"][0]["minimality"]["proved"], true);
    let orders = json["root_cause"]["orders"].as_array().expect("orders");
    assert!(!orders.is_empty() && orders.iter().all(|order| order["witness"].is_array()));
}

#[test]
fn a_run_that_did_not_fail() {
    let test = "no-failure";
    let program = write(test, "counter.c", &counter("assert(counter > 0);"));
    says(&directory(test), &["run", program, "-o", "good.trace"], NOTHING);
    let message = "the recorded run did not fail: there is nothing to diagnose";
    let (out, err) = says(&directory(test), &["diagnose", "good.trace"], ERROR);
    assert_eq!(out, "");
    assert_eq!(words(&err).matches(message).count(), 1, "one message: {err}");
    let (out, _) = says(&directory(test), &["diagnose", "good.trace", "--json"], ERROR);
    let json: Value = serde_json::from_str(&out).expect("JSON");
    assert_eq!(json["error"], message);
}

#[test]
fn a_bug_that_no_schedule_avoids() {
    let test = "sequential";
    let program = write(test, "counter.c", &counter("assert(counter > 2);"));
    let trace = find(test, program, &[]);
    let (out, _) = says(&directory(test), &["diagnose", &trace], INCONCLUSIVE);
    assert!(words(&out).contains("it fails under every schedule tried"), "{out}");
    let json = diagnose(test, &trace, &[], INCONCLUSIVE);
    assert_eq!(json["status"]["kind"], "inconclusive");
    assert_eq!(json["root_cause"], Value::Null, "no root cause is claimed");
    assert_eq!(json["alternates"], Value::Array(Vec::new()));
}

#[test]
fn a_trace_that_is_missing_or_damaged() {
    let test = "damaged";
    let trace = directory(test).join(lost_update(test));
    let mut bytes = std::fs::read(trace).expect("a trace");
    let (_, err) = says(&directory(test), &["diagnose", "nowhere.trace"], ERROR);
    assert!(words(&err).contains("there is no trace file nowhere.trace"), "{err}");
    let path = directory(test).join("bad.trace");
    let middle = bytes.len() / 2;
    std::fs::write(&path, &bytes[..middle]).expect("writes");
    let (out, err) = says(&directory(test), &["diagnose", "bad.trace"], ERROR);
    assert!(out.is_empty() && err.matches("bad.trace").count() == 1, "one message: {err}");
    bytes[middle] ^= 1;
    std::fs::write(&path, &bytes).expect("writes");
    let (out, err) = says(&directory(test), &["diagnose", "bad.trace"], ERROR);
    assert!(out.is_empty() && err.matches("bad.trace").count() == 1, "one message: {err}");
    std::fs::write(&path, "no trace at all").expect("writes");
    says(&directory(test), &["diagnose", "bad.trace"], ERROR);
}

#[test]
fn a_solver_that_gives_up_is_told() {
    let test = "gives-up";
    let bank = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus/atomicity/bank/bank.c");
    let trace = find(test, bank.to_str().expect("a path in UTF-8"), &[]);
    for goal in ["maxsmt", "lexico"] {
        let limits = ["--goal", goal, "--conflict-limit", "1"];
        let json = diagnose(test, &trace, &limits, FINDING);
        let notes = json["notes"].to_string();
        assert!(notes.contains(&format!("--goal {goal}: the solver gave up")), "{notes}");
        assert_eq!(json["status"]["kind"], "confirmed", "there is an answer all the same");
        assert_eq!(json["alternates"][0]["found_by"], "local");
        let arguments = [&["diagnose", &trace][..], &limits].concat();
        let (out, _) = says(&directory(test), &arguments, FINDING);
        assert!(words(&out).contains("the solver gave up"), "{out}");
    }
    let json = diagnose(test, &trace, &["--goal", "maxsmt"], FINDING);
    assert_eq!(json["alternates"][0]["found_by"], "maxsmt", "it can be found with more patience");
}

#[test]
fn every_goal_finds_a_lost_update() {
    let test = "goals";
    let trace = lost_update(test);
    for goal in ["local", "pair", "maxsmt", "lexico", "progressive", "progressive-lexico"] {
        let json = diagnose(test, &trace, &["--goal", goal], FINDING);
        assert_eq!(json["status"]["kind"], "confirmed", "{goal}");
        assert_eq!(json["alternates"][0]["run"]["outcome"]["kind"], "exited", "{goal}");
    }
    let (_, err) = says(&directory(test), &["diagnose", &trace, "--goal", "nearest"], ERROR);
    for name in ["'nearest'", "local", "pair", "maxsmt", "lexico", "progressive-lexico"] {
        assert!(err.contains(name), "'{name}' is not in {err}");
    }
}

/// Both solvers prove the same, the report names who did, and the environment chooses, too.
#[test]
fn every_solver_proves_the_same() {
    let test = "solvers";
    let trace = lost_update(test);
    for (solver, name) in [("orders", "orders "), ("z3", "Z3 ")] {
        let json = diagnose(test, &trace, &["--goal", "lexico", "--solver", solver], FINDING);
        assert_eq!(json["alternates"][0]["minimality"]["proved"], true, "{solver}");
        assert_eq!(json["alternates"][0]["distance"]["data_flow"], 1, "{solver}");
        let flags = ["diagnose", &trace, "--goal", "lexico", "--solver", solver];
        let (out, _) = says(&directory(test), &flags, FINDING);
        assert!(out.contains(&format!("to {name}")), "{solver}: {out}");
    }
    let mut command = Command::new(env!("CARGO_BIN_EXE_unravel"));
    command.args(["diagnose", &trace, "--goal", "lexico"]).current_dir(directory(test));
    let output = command.env("UNRAVEL_SOLVER", "z3").output().expect("unravel runs");
    assert!(text(&output.stdout).contains("to Z3 "), "{}", text(&output.stdout));
    let (_, err) = says(&directory(test), &["diagnose", &trace, "--solver", "cvc5"], ERROR);
    assert!(err.contains("'cvc5'") && err.contains("orders and z3"), "{err}");
}

/// With `--certify` what is said to be proved has a proof that was checked, or the report says how it was proved.
#[test]
fn proofs_are_certified() {
    let test = "certified";
    let trace = lost_update(test);
    assert!(diagnose(test, &trace, &[], FINDING).get("certified").is_none());
    let json = diagnose(test, &trace, &["--certify=proofs"], FINDING);
    let certified = &json["certified"];
    assert_eq!(certified["refused"], serde_json::json!([]), "{certified}");
    assert!(certified["claims"].as_u64() > Some(0) && certified["lines"].as_u64() > Some(0));
    assert_eq!(json["alternates"][0]["minimality"]["proved"], true);
    assert_eq!(certified["alternates"][0]["kind"], "certified", "{certified}");
    assert_eq!(json["root_cause"]["proved_on_path"], true);
    assert_eq!(certified["root_cause"]["kind"], "certified", "{certified}");
    let written = std::fs::read_dir(directory(test).join("proofs")).expect("a directory");
    for entry in written {
        let path = entry.expect("an entry").path();
        let text = std::fs::read_to_string(&path).expect("a certificate");
        assert!(text.starts_with("unravel certificate 1\nmodel "), "{path:?}: {text}");
        assert!(text.lines().last().is_some_and(|line| line.starts_with("= ")), "{path:?}");
    }
    let (out, err) = says(&directory(test), &["diagnose", &trace, "--certify"], FINDING);
    assert!(words(&out).contains("proved minimal: certified"), "{out}");
    assert!(!out.contains("REFUSED") && !err.contains("REFUSED"), "{out} {err}");
    // Who leaves no proof has none to check.
    let json = diagnose(test, &trace, &["--certify", "--solver", "z3"], FINDING);
    let certified = &json["certified"];
    assert_eq!(certified["claims"], 0, "{certified}");
    assert_eq!(certified["alternates"][0]["kind"], "not-certifiable", "{certified}");
}

#[test]
fn files_are_written_where_the_user_is() {
    let test = "files";
    let trace = lost_update(test);
    let elsewhere = directory(test).join("elsewhere");
    std::fs::create_dir_all(&elsewhere).expect("a directory");
    let trace = format!("../{trace}");
    let flags = ["diagnose", &trace, "--dot", "a.dot", "--dump-smt", "smt", "--goal", "maxsmt"];
    let (out, err) = says(&elsewhere, &flags, FINDING);
    assert!(out.contains("confirmed by execution"), "{out}");
    assert!(err.contains("written to"), "{err}");
    let dot = std::fs::read_to_string(elsewhere.join("a.dot")).expect("a graph");
    assert!(dot.starts_with("digraph") && dot.trim_end().ends_with('}'), "{dot}");
    assert_eq!(dot.matches('{').count(), dot.matches('}').count(), "{dot}");
    let queries: Vec<PathBuf> = std::fs::read_dir(elsewhere.join("smt"))
        .expect("a directory")
        .map(|entry| entry.expect("an entry").path())
        .collect();
    assert!(!queries.is_empty());
    for path in queries {
        let query = std::fs::read_to_string(&path).expect("a query");
        assert!(query.contains("(check-sat)"), "{path:?}");
        balanced(&query).unwrap_or_else(|why| panic!("{path:?}: {why}"));
    }
    let (_, err) = says(&elsewhere, &["diagnose", &trace, "--dot", "no/such/place.dot"], ERROR);
    assert!(words(&err).contains("cannot write"), "{err}");
}

/// Whether parentheses match, outside of comments and quoted symbols.
fn balanced(query: &str) -> Result<(), String> {
    let mut depth = 0i64;
    for line in query.lines() {
        let code = line.split(';').next().unwrap_or_default();
        for (index, part) in code.split('|').enumerate().filter(|(index, _)| index % 2 == 0) {
            depth += part.matches('(').count() as i64 - part.matches(')').count() as i64;
            if depth < 0 {
                return Err(format!("too many are closed in '{line}' ({index})"));
            }
        }
    }
    if depth == 0 { Ok(()) } else { Err(format!("{depth} are open at the end")) }
}

#[test]
fn more_alternates_are_different_ones() {
    let test = "alternates";
    let bank = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus/atomicity/bank/bank.c");
    let trace = find(test, bank.to_str().expect("a path in UTF-8"), &[]);
    let json = diagnose(test, &trace, &["--alternates", "3"], FINDING);
    let alternates = json["alternates"].as_array().expect("alternates");
    assert_eq!(alternates.len(), 3);
    let size = |a: &Value| a["distance"]["data_flow"].as_u64().expect("a number");
    assert!(alternates.is_sorted_by_key(size), "nearest first");
    for (index, alternate) in alternates.iter().enumerate() {
        assert_eq!(alternate["run"]["outcome"]["kind"], "exited");
        let flows = &alternate["projection"]["flows"];
        let schedule = &alternate["run"]["schedule"];
        let again = |other: &&Value| {
            other["projection"]["flows"] == *flows && other["run"]["schedule"] == *schedule
        };
        assert_eq!(alternates[..index].iter().filter(again).count(), 0, "number {index}");
    }
}

#[test]
fn a_program_that_changed_since() {
    let test = "changed";
    let trace = lost_update(test);
    let with_comment = format!("{}// Another comment.\n", counter("assert(counter == 2);"));
    write(test, "counter.c", &with_comment.replace("seen + 1", "1 + seen"));
    let (out, err) = says(&directory(test), &["diagnose", &trace], FINDING);
    assert!(err.contains("has changed since the trace was recorded"), "{err}");
    assert!(out.contains("confirmed by execution"), "{out}");
    write(test, "counter.c", &counter("return counter > 2;"));
    let (out, err) = says(&directory(test), &["diagnose", &trace], ERROR);
    assert_eq!(out, "");
    assert!(words(&err).contains("the recorded failure does not show again"), "{err}");
    std::fs::remove_file(directory(test).join("counter.c")).expect("it is there");
    let (_, err) = says(&directory(test), &["diagnose", &trace], ERROR);
    assert!(words(&err).contains("counter.c"), "{err}");
}

#[test]
fn another_directory_does_not_matter() {
    let test = "directory";
    let trace = lost_update(test);
    let here = says(&directory(test), &["diagnose", &trace, "--json"], FINDING);
    let there = directory(test).join("deep/down");
    std::fs::create_dir_all(&there).expect("a directory");
    let path = directory(test).join(&trace);
    let path = path.to_str().expect("a path in UTF-8");
    assert_eq!(says(&there, &["diagnose", path, "--json"], FINDING), here);
    let (out, _) = says(&there, &["diagnose", path], FINDING);
    assert!(out.contains("counter = seen + 1;"), "source lines are shown: {out}");
}

#[test]
fn what_the_program_prints_is_not_in_the_report() {
    let test = "chatty";
    let source = counter("fflush(stdout); assert(counter == 2);").replace(
        "int seen = counter;",
        r#"for (int i = 0; i < 100; i++) { printf("NOISE %d\n", i); fprintf(stderr, "NOISE %d\n", i); }
        int seen = counter;"#,
    );
    let program = write(test, "chatty.c", &source);
    let trace = find(test, program, &[]);
    let (out, err) = says(&directory(test), &["diagnose", &trace], FINDING);
    assert!(out.contains("confirmed by execution"), "{out}");
    // Lines of the source may be shown; lines of the output may not.
    assert!(!out.lines().any(|line| line.trim_start().starts_with("NOISE")), "{out}");
    assert_eq!(err, "");
    let json = diagnose(test, &trace, &[], FINDING);
    assert_eq!(json["status"]["kind"], "confirmed");
}

#[test]
fn the_program_reads_its_input_in_every_run() {
    let test = "stdin";
    let source = counter("int n = 0; if (scanf(\"%d\", &n) != 1) return 7; assert(counter == n);");
    let program = write(test, "reads.c", &source);
    let input = write(test, "input", "2\n");
    let trace = find(test, program, &["--stdin", input]);
    let json = diagnose(test, &trace, &[], FINDING);
    assert_eq!(json["status"]["kind"], "confirmed");
    // With its input the passing run ends as it should, and not with 7.
    assert_eq!(json["alternates"][0]["run"]["outcome"]["code"], 0);
}

#[test]
fn the_rules_of_the_search_count() {
    let test = "rules";
    let program =
        write(test, "prints.c", &counter("printf(\"%d\\n\", counter); return counter != 2;"));
    write(test, "two", "2\n");
    for rule in [
        &["--expect-output", "two"][..],
        &["--check", "grep -q 2 $UNRAVEL_STDOUT"],
        &["--fail-on-exit"],
    ] {
        let trace = find(test, program, rule);
        let (out, err) = says(&directory(test), &["diagnose", &trace], FINDING);
        assert!(out.contains("confirmed by execution"), "{rule:?}: {out}");
        assert_eq!(err, "", "{rule:?}");
        let json = diagnose(test, &trace, &[], FINDING);
        assert_eq!(json["alternates"][0]["run"]["outcome"]["code"], 0, "{rule:?}");
        assert!(json["root_cause"].is_object(), "{rule:?}");
    }
}

#[test]
fn times_are_no_part_of_the_answer() {
    let test = "timings";
    let trace = lost_update(test);
    let (plain, _) = says(&directory(test), &["diagnose", &trace, "--json"], FINDING);
    let flags = ["diagnose", &trace, "--json", "--timings"];
    let (timed, err) = says(&directory(test), &flags, FINDING);
    assert_eq!(plain, timed);
    let times: Value = serde_json::from_str(&err).expect("one line of JSON");
    for stage in ["alternate", "cause", "total", "evaluate"] {
        assert!(times[stage].as_f64().is_some_and(|seconds| seconds > 0.0), "{stage}: {err}");
    }
}
