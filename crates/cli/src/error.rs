//! What can go wrong with a command: one message, and what to try.

use std::path::PathBuf;

use miette::Diagnostic;
use thiserror::Error;

#[derive(Debug, Error, Diagnostic)]
pub enum CliError {
    #[error(transparent)]
    Build(#[from] unravel_program::build::BuildError),
    #[error("cannot use {program} as a program: {source}")]
    Load { program: String, source: unravel_program::LoadError },
    #[error("cannot use {program} as a program: {source}")]
    Damaged { program: String, source: unravel_program::ProbeError },
    #[error("{program}: {source}")]
    #[diagnostic(help("a program needs a function main, and its libraries must be installed"))]
    Machine { program: String, source: unravel_vm::VmError },
    #[error(transparent)]
    Search(#[from] unravel_explore::SearchError),
    #[error(transparent)]
    Causes(#[from] unravel_causes::CausesError),
    #[error(transparent)]
    Hunt(#[from] unravel_hunt::HuntError),
    #[error(transparent)]
    Explain(#[from] unravel_explain::ExplainError),
    #[error(transparent)]
    Trace(#[from] unravel_files::FileError),
    #[error(transparent)]
    Database(#[from] unravel_database::DatabaseError),
    #[error(transparent)]
    ShardFile(#[from] unravel_files::ShardError),
    #[error(transparent)]
    #[diagnostic(help("a Symbiosis trace is a folder with a file a thread: T0, T1, …"))]
    Import(#[from] unravel_files::import::symbiosis::ImportError),
    #[error("{} was imported: there is no program to execute", path.display())]
    #[diagnostic(help(
        "look at it with `unravel trace show`, diagnose it with `unravel diagnose`"
    ))]
    NotExecutable { path: PathBuf },
    #[error("{} was not imported with {}", db.display(), trace.display())]
    #[diagnostic(help("`unravel import` writes both: a trace, and a database of all executions"))]
    OtherFolder { db: PathBuf, trace: PathBuf },
    #[error("cannot read {}: {source}", path.display())]
    Read { path: PathBuf, source: std::io::Error },
    #[error("cannot write {}: {source}", path.display())]
    Write { path: PathBuf, source: std::io::Error },
    #[error("{}: {message}", path.display())]
    #[diagnostic(help(
        "unravel.toml has the sections [build], [search] and [[suppress]]; see docs/configuration.md"
    ))]
    Config { path: PathBuf, message: String },
    #[error(transparent)]
    Diagnose(#[from] unravel_diagnose::DiagnoseError),
    #[error(transparent)]
    Simplify(#[from] unravel_simplify::SimplifyError),
    #[error(transparent)]
    Engine(#[from] unravel_trace::EngineError),
    #[error("standard input cannot be read: {0}")]
    Stdin(std::io::Error),
}
