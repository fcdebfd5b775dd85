//! How tests call the tool as a user does.

#![allow(dead_code, reason = "each test file uses its part")]

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

pub const NOTHING: i32 = 0;
pub const FINDING: i32 = 1;
pub const ERROR: i32 = 2;
pub const INCONCLUSIVE: i32 = 3;

/// A directory of one test's own, empty.
pub fn directory(test: &str) -> PathBuf {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join(test);
    let _ = std::fs::remove_dir_all(&directory);
    std::fs::create_dir_all(&directory).expect("a directory for the test");
    directory
}

pub fn write(directory: &Path, name: &str, content: &str) {
    std::fs::write(directory.join(name), content).expect("the file is written");
}

/// The tool, to be run in this directory.
pub fn unravel(directory: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_unravel"));
    command.args(arguments).current_dir(directory).stdin(Stdio::null());
    command.env_remove("NO_COLOR");
    command
}

/// Runs a command that ends with this exit code; its standard output.
pub fn says(directory: &Path, arguments: &[&str], code: i32) -> String {
    let output = unravel(directory, arguments).output().expect("unravel runs");
    ended(&output, arguments, code)
}

/// The standard output of a command that ended with this exit code.
pub fn ended(output: &Output, arguments: &[&str], code: i32) -> String {
    let out = String::from_utf8_lossy(&output.stdout).into_owned();
    let err = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{arguments:?}: {out}{err}");
    assert!(!err.contains("panicked"), "{err}");
    out
}

/// A program of the corpus.
pub fn corpus(path: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus");
    let path = root.join(path).canonicalize().expect("the corpus has it");
    path.display().to_string()
}
