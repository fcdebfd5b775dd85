//! Why a program could not be built or opened.

use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

use super::SealError;
use super::tools::INSTALL;

#[derive(Debug, Error)]
pub enum BuildError {
    #[error("there are no source files to build")]
    NoSources,
    #[error("there is no file {}", path.display())]
    NotFound { path: PathBuf },
    #[error("cannot {action} {}: {source}", path.display())]
    Io { action: &'static str, path: PathBuf, source: io::Error },
    #[error("cannot build {}: {hint}", path.display())]
    UnknownType { path: PathBuf, hint: &'static str },
    #[error("cannot use the compiler flag '{flag}': {problem}")]
    BadFlag { flag: String, problem: &'static str },
    #[error("clang 19 is not installed (looked for {tried}); install it with\n  {INSTALL}")]
    ClangMissing { tried: String },
    #[error("llvm-link 19 is not installed (looked for {tried}); install it with\n  {INSTALL}")]
    LinkerMissing { tried: String },
    /// `stderr` is what clang printed, unchanged.
    #[error("clang cannot compile {}:\n{stderr}", list(sources))]
    Compile { sources: Vec<PathBuf>, stderr: String },
    /// `stderr` is what llvm-link printed, unchanged.
    #[error("cannot link {}:\n{stderr}", list(sources))]
    Link { sources: Vec<PathBuf>, stderr: String },
    #[error("cannot use the compilation database {}: {problem}", path.display())]
    Database { path: PathBuf, problem: String },
    #[error("the bitcode in {} is damaged, or of another version of unravel; build it again", path.display())]
    DamagedBitcode { path: PathBuf },
    /// It was built by a wrapped build, but of none of its sources there is bitcode.
    #[error("{} has no bitcode{}", path.display(), said(notes))]
    NoBitcode { path: PathBuf, notes: Vec<String> },
    #[error("cannot use the built program {}: {problem}", path.display())]
    Container { path: PathBuf, problem: SealError },
}

impl BuildError {
    /// What went wrong with reading a file.
    pub(super) fn reading(path: &Path, source: io::Error) -> BuildError {
        let path = path.to_path_buf();
        match source.kind() {
            io::ErrorKind::NotFound => BuildError::NotFound { path },
            _ => BuildError::Io { action: "read", path, source },
        }
    }
}

fn said(notes: &[String]) -> String {
    notes.iter().map(|note| format!("\n  {note}")).collect()
}

fn list(paths: &[PathBuf]) -> String {
    let names: Vec<_> = paths.iter().map(|path| path.display().to_string()).collect();
    names.join(", ")
}
