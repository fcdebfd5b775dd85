//! `unravel replay --step`: commands from a pipe or from the command line, answers on standard output.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

const CLEAN: i32 = 0;
const FINDING: i32 = 1;
const ERROR: i32 = 2;
const INCONCLUSIVE: i32 = 3;

/// A directory of one test's own.
fn directory(test: &str) -> PathBuf {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("step").join(test);
    std::fs::create_dir_all(&directory).expect("a directory for the test");
    directory
}

fn unravel(directory: &Path, arguments: &[&str], input: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_unravel"));
    command.args(arguments).current_dir(directory);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("unravel runs");
    // It may end before it has read everything.
    let _ = child.stdin.take().expect("a pipe").write_all(input.as_bytes());
    child.wait_with_output().expect("unravel ends")
}

/// Standard output of a command that ends with this exit code and complains of nothing.
fn says(directory: &Path, arguments: &[&str], input: &str, code: i32) -> String {
    let output = unravel(directory, arguments, input);
    let out = String::from_utf8_lossy(&output.stdout).into_owned();
    let error = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{arguments:?}: {out}{error}");
    assert!(!error.contains("panicked"), "{error}");
    out
}

fn contains(text: &str, all: &[&str]) {
    for part in all {
        assert!(text.contains(part), "'{part}' is not in:\n{text}");
    }
}

/// Finds the bug of a program; the trace.
fn find(directory: &Path, program: &str) -> String {
    // A strategy that happens to fail first in a run with more than one preemption, which there is something to step through.
    let arguments =
        ["find", program, "--strategy=race-directed", "--json", "--jobs", "1", "--out", "out"];
    let out = says(directory, &arguments, "", FINDING);
    let json: serde_json::Value =
        serde_json::from_str(out.lines().last().unwrap_or_default()).expect("JSON");
    json["findings"][0]["trace"].as_str().expect("a trace").to_owned()
}

/// A program of the corpus in a directory of the test's own.
fn corpus(test: &str, program: &str) -> (PathBuf, String) {
    let directory = directory(test);
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus").join(program);
    let name = source.file_name().expect("a file").to_owned();
    std::fs::copy(&source, directory.join(&name)).expect("the program is copied");
    let trace = find(&directory, &name.to_string_lossy());
    (directory, trace)
}

#[test]
fn a_lost_update_is_stepped_through_from_a_pipe() {
    let (directory, trace) = corpus("bank", "atomicity/bank/bank.c");
    let step = ["replay", &trace, "--step"];
    let commands = "# the race\nb bank.c:54\nc\np BankTotal\n\nwatch BankTotal\nrc\nend\n";
    let out = says(&directory, &step, commands, FINDING);
    contains(&out, &["(unravel) b bank.c:54\nbreakpoint 1, bank.c:54: stops 3 times"]);
    contains(&out, &["(unravel) p BankTotal\nBankTotal = ", "next write: T0."]);
    contains(&out, &["BankTotal = total + amount;", "switch: T0", "could go on"]);
    contains(&out, &["(unravel) end\nend of the run", "at bank.c:90 in audit (T0)"]);
    assert!(!out.contains("the race"), "comments are passed over: {out}");
    assert!(!out.contains("accounts 3"), "the program's output is not shown: {out}");
    assert!(!out.contains('\x1b'), "no colours in a pipe: {out}");
    // Twice the same, and the end of the input is the end.
    assert_eq!(out, says(&directory, &step, commands, FINDING));
    contains(&says(&directory, &step, "", FINDING), &["1/"]);
}

#[test]
fn commands_on_the_command_line() {
    let (directory, trace) = corpus("commands", "atomicity/bank/bank.c");
    let step =
        ["replay", &trace, "--step", "-x", "until 54; info threads", "-x", "l;q", "-x", "foo"];
    let out = says(&directory, &step, "never read\n", FINDING);
    contains(&out, &["(unravel) until 54; info threads", "waits for T0.1 to end", "→    54"]);
    // What is refused makes the whole an error, and says what would do.
    let out = says(&directory, &["replay", &trace, "--step", "-x", "b 52"], "", ERROR);
    contains(&out, &["no event of this run is at bank.c:52", "51 and 53"]);
    let output = unravel(&directory, &["replay", &trace, "--step", "--json"], "");
    assert_eq!(output.status.code(), Some(ERROR));
    let output = unravel(&directory, &["replay", &trace, "-x", "n"], "");
    assert_eq!(output.status.code(), Some(ERROR));
}

#[test]
fn a_deadlock_ends_with_who_waits_for_whom() {
    let (directory, trace) = corpus("deadlock", "deadlock/deadlock/deadlock.c");
    let out = says(&directory, &["replay", &trace, "--step"], "c\ni threads\ni locks\n", FINDING);
    contains(&out, &["wait for each other", "waits for mutex 'element2.lock', held by T0."]);
    contains(&out, &["element1.lock  held by T0.", "element2.lock  held by T0."]);
}

#[test]
fn the_programs_input_is_the_traces_not_ours() {
    let directory = directory("input");
    let program = "#include <stdio.h>
#include <pthread.h>
static int sum;
static void *add(void *arg) { sum += *(int *)arg; return NULL; }
int main(void)
{
    int n = 0;
    pthread_t t;
    scanf(\"%d\", &n);
    pthread_create(&t, NULL, add, &n);
    sum += 1;
    pthread_join(t, NULL);
    return 0;
}
";
    std::fs::write(directory.join("sum.c"), program).expect("written");
    std::fs::write(directory.join("number"), "41\n").expect("written");
    let run = ["run", "sum.c", "--stdin", "number", "-o", "sum.trace"];
    says(&directory, &run, "", CLEAN);
    let out = says(&directory, &["replay", "sum.trace", "--step"], "end\np sum\n", CLEAN);
    contains(&out, &["sum = 42", "passed"]);
}

#[test]
fn a_program_that_changed_is_stepped_as_it_is_now() {
    let (directory, trace) = corpus("changed", "atomicity/bank/bank.c");
    let source = directory.join("bank.c");
    let text = std::fs::read_to_string(&source).expect("the program");
    std::fs::write(&source, text.replace("INITIAL_BALANCE 100", "INITIAL_BALANCE 200"))
        .expect("written");
    let out = says(&directory, &["replay", &trace, "--step"], "watch BankTotal\nc\n", INCONCLUSIVE);
    contains(&out, &["the replay differs from the recording: event", "(was 600)"]);
}

#[test]
fn an_imported_trace_can_be_stepped() {
    let directory = directory("imported");
    std::fs::create_dir_all(directory.join("counter")).expect("a directory");
    let main = "<assertThread_fail>
counter.c@3:W-counter_1-0
$0$
counter.c@4:S-fork_1-0
counter.c@6:S-join_1-0
counter.c@7:R-counter_1-0-0
<path>
T0:(Eq false (Eq 2 (ReadLSB w32 0 counter_1-0-0)))
";
    let child = "counter.c@5:R-counter_1-1-0
counter.c@5:W-counter_1-1
$(Add w32 1 (ReadLSB w32 0 counter_1-1-0))$
";
    std::fs::write(directory.join("counter/T0"), main).expect("written");
    std::fs::write(directory.join("counter/T1"), child).expect("written");
    says(&directory, &["import", "symbiosis", "counter", "-o", "counter.trace"], "", CLEAN);
    let commands = "b counter.c:5\nc\nn\nrc\ninfo threads\ninfo values\nend\n";
    let out = says(&directory, &["replay", "counter.trace", "--step"], commands, FINDING);
    contains(&out, &["nothing is executed", "order between threads is unknown"]);
    contains(&out, &["breakpoint 1, counter.c:5", "end of the run"]);
    assert!(!out.contains("written by"), "{out}");
}
