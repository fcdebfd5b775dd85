//! Programs with inline assembly, from source to output: they do what they do natively, and their bugs are
//! found.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn source(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/assembly").join(name)
}

/// A directory of one test's own.
fn directory(test: &str) -> PathBuf {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("assembly").join(test);
    std::fs::create_dir_all(&directory).expect("a directory for the test");
    directory
}

fn unravel(test: &str, command: &str, arguments: &[&str]) -> Output {
    let mut unravel = Command::new(env!("CARGO_BIN_EXE_unravel"));
    unravel.arg(command).args(arguments).current_dir(directory(test));
    unravel.output().expect("unravel runs")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The output of a native build.
fn native(test: &str, name: &str) -> String {
    let binary = directory(test).join("native");
    let mut clang = Command::new("clang-19");
    clang.args(["-O0", "-w", "-pthread", "-o"]).arg(&binary).arg(source(name));
    assert!(clang.status().expect("clang-19 is installed").success(), "{clang:?} failed");
    let output = Command::new(&binary).output().expect("the program runs");
    assert!(output.status.success());
    text(&output.stdout)
}

/// The program does under each strategy what it does natively.
fn same_as_native(test: &str, name: &str) {
    let expected = native(test, name);
    let program = source(name);
    let program = program.to_str().expect("a path in UTF-8");
    for strategy in ["run-to-block", "round-robin", "random", "pct"] {
        let output = unravel(test, "run", &[program, "--strategy", strategy]);
        assert_eq!(text(&output.stdout), expected, "{}", text(&output.stderr));
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    }
}

/// Searches, and returns the exit code with the report.
fn find(test: &str, name: &str, flags: &[&str]) -> (Option<i32>, String) {
    let program = source(name);
    let program = program.to_str().expect("a path in UTF-8");
    let arguments = [&[program, "--schedules", "3000", "--quiet"], flags].concat();
    let output = unravel(test, "find", &arguments);
    (output.status.code(), text(&output.stdout) + &text(&output.stderr))
}

#[test]
fn all_shapes_of_operands() {
    same_as_native("operations", "operations.c");
}

#[test]
fn questions_to_the_processor() {
    same_as_native("processor", "processor.c");
}

#[test]
fn time_stamps_repeat() {
    let program = source("processor.c");
    let program = program.to_str().expect("a path in UTF-8");
    let run = || unravel("time", "run", &[program, "--", "stamps"]);
    let (first, second) = (run(), run());
    assert!(text(&first.stdout).contains("stamps "));
    assert_eq!(text(&first.stdout), text(&second.stdout));
}

#[test]
fn a_spin_lock_locks() {
    same_as_native("spinlock", "spinlock.c");
    let (code, report) = find("spinlock", "spinlock.c", &[]);
    assert_eq!(code, Some(0), "{report}");
}

#[test]
fn without_the_spin_lock_it_fails() {
    let (code, report) = find("unlocked", "spinlock.c", &["-DUNLOCKED"]);
    assert_eq!(code, Some(1), "{report}");
    assert!(report.contains("assertion 'counter == 6' failed"), "{report}");
    let trace = "unravel-out/spinlock-assertion-1.trace";
    let replayed = unravel("unlocked", "replay", &[trace, "--times", "3"]);
    assert_eq!(replayed.status.code(), Some(1), "{}", text(&replayed.stderr));
}

#[test]
fn spinning_on_the_locked_instruction_ends() {
    same_as_native("tight", "tight_spin.c");
    let (code, report) = find("tight", "tight_spin.c", &[]);
    assert_eq!(code, Some(0), "{report}");
}

#[test]
fn each_assembly_is_an_event() {
    let (code, report) = find("lost", "lost_update.c", &[]);
    assert_eq!(code, Some(1), "{report}");
    assert!(report.contains("assertion 'counter == 2' failed"), "{report}");
}

#[test]
fn bad_memory_is_a_finding() {
    let cases = [
        ("0", 0, ""),
        ("1", 1, "use-after-free: write of 4 bytes after free"),
        ("2", 1, "null-dereference: write of 4 bytes through a null pointer"),
        ("3", 1, "crash: illegal instruction"),
    ];
    let program = source("freed.c");
    let program = program.to_str().expect("a path in UTF-8");
    for (argument, code, message) in cases {
        let output = unravel("freed", "run", &[program, "--", argument]);
        let said = text(&output.stdout) + &text(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{said}");
        assert!(said.contains(message), "{said}");
    }
}

#[test]
fn what_is_refused_is_said() {
    let program = source("refused.c");
    let program = program.to_str().expect("a path in UTF-8");
    let quiet = unravel("refused", "run", &[program]);
    assert_eq!(quiet.status.code(), Some(0), "it matters only if it is executed");
    let output = unravel("refused", "run", &[program, "--", "now"]);
    assert_eq!(output.status.code(), Some(3));
    let said = text(&output.stdout) + &text(&output.stderr);
    assert!(said.contains("inline assembly 'syscall'"), "{said}");
    // As libraries of coroutines do; executed, either would end the process.
    let jump = unravel("refused", "run", &[program, "--", "now", "jump"]);
    assert_eq!(jump.status.code(), Some(3));
    let said = text(&jump.stdout) + &text(&jump.stderr);
    assert!(said.contains("jumps to an address"), "{said}");
    let stack = unravel("refused", "run", &[program, "--", "now", "other", "stack"]);
    assert_eq!(stack.status.code(), Some(3));
    let said = text(&stack.stdout) + &text(&stack.stderr);
    assert!(said.contains("stack pointer to another stack"), "{said}");
}
