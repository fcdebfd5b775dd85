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
    #[error("{}: {source}", path.display())]
    UnreadableLog { path: PathBuf, source: unravel_instrument::OpenError },
    #[error("{} is a damaged log", path.display())]
    DamagedLog { path: PathBuf },
    #[error("{}: {source}", path.display())]
    RefusedLog { path: PathBuf, source: unravel_rebuild::Refused },
    #[error("{}: the recorded run passed, there is nothing to diagnose", path.display())]
    #[diagnostic(help("`unravel hunt --from LOG…` looks for failures near runs that passed"))]
    PassedLog { path: PathBuf },
    #[error("{}: the recorded run failed", path.display())]
    #[diagnostic(help("`unravel diagnose LOG` says why"))]
    FailedLog { path: PathBuf },
    #[error("{} is of another build than {}", path.display(), first.display())]
    #[diagnostic(help("a hunt is about one program: leave the logs of other builds out"))]
    OtherBuild { path: PathBuf, first: PathBuf },
    #[error("{}: {source}", path.display())]
    Rebuild { path: PathBuf, source: unravel_rebuild::ApartError },
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
    #[error(transparent)]
    #[diagnostic(help(
        "a log belongs to the very program that wrote it: keep both, or record again"
    ))]
    Opening(#[from] unravel_instrument::OpenError),
    #[error(transparent)]
    Log(unravel_recording::LogError),
    #[error(transparent)]
    Driver(#[from] unravel_driver::DriverError),
    #[error(transparent)]
    Project(#[from] unravel_driver::project::ProjectError),
    #[error("{command} linked no program through us")]
    #[diagnostic(help(
        "what was built before has no bitcode: clean first (make clean); a folder that was configured with the whole path of a \
         compiler has to be configured within: unravel build -- sh -c 'cmake -B build && cmake --build build'; or use \
         --build DIR --target NAME, which asks ninja or make what a program is made of"
    ))]
    NothingWrapped { command: String },
    #[error("there is no folder {}", folder.display())]
    NoBuild { folder: PathBuf },
    #[error("no executable below {} has bitcode", folder.display())]
    #[diagnostic(help(
        "name one with --target, or build the project with `unravel build -- COMMAND`"
    ))]
    NoTarget { folder: PathBuf },
    #[error("several executables below {} fit:\n  {}", folder.display(), targets.join("\n  "))]
    #[diagnostic(help("say which with --target NAME, or --target FOLDER/NAME"))]
    WhichTarget { folder: PathBuf, targets: Vec<String> },
    #[error("{} was not built to be recorded", path.display())]
    #[diagnostic(help(
        "build it with CC=unravel-cc CXX=unravel-c++, or with `unravel build --record`"
    ))]
    NotRecorded { path: PathBuf },
    #[error("{} is no log, and is not overwritten", path.display())]
    #[diagnostic(help("give another file with -o"))]
    InTheWay { path: PathBuf },
    #[error(transparent)]
    #[diagnostic(help("a profile is made by `unravel coop profile`"))]
    Profile(#[from] unravel_coop::ProfileError),
    #[error("{} is not the profile of this program", path.display())]
    #[diagnostic(help("make a new one with `unravel coop profile`: the program has changed"))]
    OtherProfile { path: PathBuf },
    #[error("{program}: {source}")]
    Instrument { program: String, source: unravel_instrument::ModuleError },
    #[error("the profile has {1} instances, counted from 0: there is no instance {0}")]
    NoInstance(usize, usize),
    #[error("native programs have their variables in registers: leave --uninit out")]
    NativeUninit,
    #[error("the native program could not be compiled")]
    NativeBuild,
    #[error(transparent)]
    NativeLog(#[from] unravel_coop::NativeError),
    #[error(transparent)]
    Store(#[from] unravel_fleet::StoreError),
    #[error(transparent)]
    #[diagnostic(help("spark-submit has to be on the path: `pip install pyspark`, and Java"))]
    Spark(#[from] unravel_fleet::SparkError),
    #[error("standard input cannot be read: {0}")]
    Stdin(std::io::Error),
}
