//! What is run: the program, how to compile it, what it is given, what counts as its failure.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

/// Flags for compiling.
#[derive(Debug, Args, Default, Clone)]
#[command(next_help_heading = "How to compile it")]
pub struct CompileFlags {
    /// Directory with headers.
    #[arg(short = 'I', value_name = "DIR")]
    pub include: Vec<String>,
    /// Define a macro.
    #[arg(short = 'D', value_name = "NAME[=VALUE]")]
    pub define: Vec<String>,
    /// Use a native library.
    #[arg(short = 'l', value_name = "LIBRARY")]
    pub library: Vec<String>,
    /// Where compile_commands.json is (default: the nearest one above a source, also in its build* folders).
    #[arg(short = 'p', long, value_name = "DIR")]
    pub compile_commands: Option<PathBuf>,
    /// Any other flag for the compiler.
    #[arg(long = "cflag", value_name = "FLAG", allow_hyphen_values = true)]
    pub other: Vec<String>,
}

/// What the program is given.
#[derive(Debug, Args, Default, Clone)]
#[command(next_help_heading = "What it is given")]
pub struct InputFlags {
    /// File to use as standard input (default: ours, if it is a file or a pipe with something in it).
    #[arg(long, value_name = "FILE")]
    pub stdin: Option<PathBuf>,
    /// Seed for the values of __VERIFIER_nondet_* functions.
    #[arg(long, value_name = "N", conflicts_with = "nondet")]
    pub nondet_seed: Option<u64>,
    /// The values themselves, in order of the calls.
    #[arg(long, value_name = "N,N,…", value_delimiter = ',', allow_hyphen_values = true)]
    pub nondet: Option<Vec<i64>>,
    /// Give a run up after this many loop iterations and calls.
    #[arg(long, value_name = "N")]
    pub max_steps: Option<u64>,
    /// Reading memory that nobody has written is a failure, and what such memory holds varies.
    #[arg(long)]
    pub uninit: bool,
    /// Let at most so many allocations of a run fail.
    #[arg(long, value_name = "N")]
    pub malloc_fails: Option<u32>,
    /// Unlocking a mutex that another thread has locked, or nobody, and destroying one that is locked do what glibc does,
    /// instead of failing.
    #[arg(long)]
    pub lenient_locks: bool,
    /// Let a function that nobody defines return any value and do nothing else.
    #[arg(long, value_name = "NAME")]
    pub stub: Vec<String>,
}

/// What counts as a failure besides assertions, crashes, memory errors and deadlocks.
#[derive(Debug, Args, Default, Clone)]
#[command(next_help_heading = "What counts as a failure")]
pub struct RuleFlags {
    /// An exit code other than 0 is a failure.
    #[arg(long)]
    pub fail_on_exit: bool,
    /// Standard output other than this file's content is a failure.
    #[arg(long, value_name = "FILE")]
    pub expect_output: Option<PathBuf>,
    /// A shell command that judges each run: $UNRAVEL_STDOUT names a file with its output, $UNRAVEL_EXIT is
    /// its exit code.
    #[arg(long, value_name = "CMD")]
    pub check: Option<String>,
    /// A data race is a failure: two accesses to the same memory that nothing orders, one of them a write.
    #[arg(long)]
    pub races: bool,
}

/// A program of a project, instead of its sources.
#[derive(Debug, Args, Default, Clone)]
#[command(next_help_heading = "Which program of a project")]
pub struct TargetFlags {
    /// Folder that a project was built in: by `unravel build -- COMMAND`, or by ninja or make, whose commands are asked for.
    #[arg(long, value_name = "DIR", conflicts_with = "program")]
    pub build: Option<PathBuf>,
    /// Which of its executables (default: the only one).
    #[arg(long, value_name = "NAME", conflicts_with = "program")]
    pub target: Option<String>,
}

#[derive(Debug, Args)]
pub struct ProgramFlags {
    /// Sources, bitcode, or what `unravel build` made: a file, or an executable of a build that it wrapped.
    #[arg(required_unless_present_any = ["build", "target"], value_name = "PROGRAM")]
    pub program: Vec<PathBuf>,
    #[command(flatten)]
    pub from: TargetFlags,
    /// Arguments of the program.
    #[arg(last = true, value_name = "ARG")]
    pub args: Vec<String>,
    #[command(flatten)]
    pub compile: CompileFlags,
    #[command(flatten)]
    pub input: InputFlags,
    #[command(flatten)]
    pub rules: RuleFlags,
    #[command(flatten)]
    pub engine: EngineFlags,
}

/// How it is executed. Commands that begin with a trace go by the variable alone.
#[derive(Debug, Args, Default, Clone)]
#[command(next_help_heading = "How it is executed")]
pub struct EngineFlags {
    /// Compile what runs often, or interpret everything. Results are the same, to the byte.
    #[arg(long, value_enum, default_value_t, env = "UNRAVEL_ENGINE")]
    pub engine: EngineName,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum EngineName {
    Interpret,
    #[default]
    Compiled,
}

impl EngineName {
    /// As the variable says; the default if it says nothing that is known.
    pub fn from_environment() -> EngineName {
        let name = std::env::var("UNRAVEL_ENGINE").unwrap_or_default();
        EngineName::from_str(&name, true).unwrap_or_default()
    }
}

#[derive(Debug, Args)]
pub struct BuildFlags {
    /// C and C++ sources.
    #[arg(required_unless_present = "flags", value_name = "SOURCE")]
    pub sources: Vec<PathBuf>,
    /// Where to write the result (default: the first source's name with `.unravel`).
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Build a native program that `unravel record` can run (default: the first source's name without its ending).
    #[arg(long)]
    pub record: bool,
    /// Print JSON instead of text.
    #[arg(long)]
    pub json: bool,
    /// Flags for the compiler; without sources the command that builds a project, all of whose compilers are wrapped.
    #[arg(last = true, value_name = "FLAG|COMMAND")]
    pub flags: Vec<String>,
    #[command(flatten)]
    pub compile: CompileFlags,
}
