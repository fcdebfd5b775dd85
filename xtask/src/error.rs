//! Why a task could not be carried out. A failing test is no error: it is counted.

use std::path::PathBuf;
use std::process::ExitStatus;

use thiserror::Error;

#[derive(Debug, Error)]
pub enum Error {
    #[error("cannot start {program}: {source}")]
    Start { program: String, source: std::io::Error },
    #[error("{command} failed ({status})")]
    Failed { command: String, status: ExitStatus },
    #[error("cannot read or write {}: {source}", path.display())]
    File { path: PathBuf, source: std::io::Error },
    #[error("cargo built no program called {0}")]
    NotBuilt(String),
    #[error("cannot write the trace {}: {problem}", path.display())]
    Trace { path: PathBuf, problem: String },
    #[error("no corpus case has '{0}' in its name; there are folders corpus/<kind>/<name>")]
    NoCase(String),
    #[error("inconclusive: {0}")]
    Inconclusive(String),
    #[error("{command} printed something else than expected: {problem}")]
    Answer { command: String, problem: String },
}
