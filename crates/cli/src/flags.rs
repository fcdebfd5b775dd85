//! The command line, as typed. [`crate::program`] and the commands turn it into what they need.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand};
use unravel_diagnose::Goal;
use unravel_explore::Strategy;

/// Gets to the bottom of concurrency bugs in C and C++ programs.
#[derive(Debug, Parser)]
#[command(name = "unravel", version, max_term_width = 100)]
#[command(after_help = include_str!("help/unravel.txt"))]
pub struct Cli {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Find the bugs of a program and explain them.
    #[command(after_long_help = include_str!("help/explain.txt"))]
    Explain(ExplainFlags),
    /// Search for a schedule that fails.
    #[command(after_long_help = include_str!("help/find.txt"))]
    Find(FindFlags),
    /// Run a recorded schedule again, exactly, or step through it.
    #[command(after_long_help = include_str!("help/replay.txt"))]
    Replay(ReplayFlags),
    /// Say why a recorded run failed, and show the nearest schedule that passes.
    #[command(after_long_help = include_str!("help/diagnose.txt"))]
    Diagnose(DiagnoseFlags),
    /// Run the program once, under one schedule.
    #[command(after_long_help = include_str!("help/run.txt"))]
    Run(RunFlags),
    /// Look into a trace.
    Trace(TraceFlags),
    /// Compile a program once, for later commands.
    #[command(after_long_help = include_str!("help/build.txt"))]
    Build(BuildFlags),
    /// Make a trace of what another tool recorded.
    Import(ImportFlags),
    /// Say what is installed and what is missing.
    #[command(after_long_help = include_str!("help/doctor.txt"))]
    Doctor(DoctorFlags),
    /// Print a script that completes commands and flags in a shell.
    #[command(after_long_help = include_str!("help/completions.txt"))]
    Completions(CompletionsFlags),
}

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
    /// Let condition waits wake without a signal.
    #[arg(long)]
    pub spurious_wakes: bool,
    /// Let timed waits time out although other threads could run.
    #[arg(long)]
    pub early_timeouts: bool,
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
}

#[derive(Debug, Args)]
pub struct BuildFlags {
    /// C and C++ sources.
    #[arg(required = true, value_name = "SOURCE")]
    pub sources: Vec<PathBuf>,
    /// Where to write the result (default: the first source's name with `.unravel`).
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    #[command(flatten)]
    pub compile: CompileFlags,
    /// Print JSON instead of text.
    #[arg(long)]
    pub json: bool,
    /// Flags for the compiler.
    #[arg(last = true, value_name = "FLAG")]
    pub flags: Vec<String>,
}

#[derive(Debug, Args)]
pub struct ProgramFlags {
    /// Sources, bitcode, or what `unravel build` made.
    #[arg(required = true, value_name = "PROGRAM")]
    pub program: Vec<PathBuf>,
    #[command(flatten)]
    pub compile: CompileFlags,
    #[command(flatten)]
    pub input: InputFlags,
    #[command(flatten)]
    pub rules: RuleFlags,
    /// Arguments of the program.
    #[arg(last = true, value_name = "ARG")]
    pub args: Vec<String>,
}

/// How to search, and how long.
#[derive(Debug, Args)]
#[command(next_help_heading = "How to search")]
pub struct SearchFlags {
    /// mix, random, pct, pct:DEPTH, round-robin or run-to-block.
    #[arg(long, value_name = "NAME")]
    pub strategy: Option<Strategy>,
    /// Which schedules: the same seed tries the same ones (default 1).
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Try at most this many schedules.
    #[arg(long, value_name = "N")]
    pub schedules: Option<u64>,
    /// Search at most this long: 30s, 5m, 1h (default 30s, unless --schedules is given).
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    pub time: Option<Duration>,
    /// Worker processes (default: one a core).
    #[arg(long, short, value_name = "N")]
    pub jobs: Option<usize>,
}

#[derive(Debug, Args)]
pub struct FindFlags {
    #[command(flatten)]
    pub program: ProgramFlags,
    #[command(flatten)]
    pub search: SearchFlags,
    /// Go on after the first bug and collect distinct ones.
    #[arg(long)]
    pub all: bool,
    /// Directory for traces.
    #[arg(long, value_name = "DIR", default_value = "unravel-out")]
    pub out: PathBuf,
    /// Print nothing but findings.
    #[arg(long, short)]
    pub quiet: bool,
    /// Print JSON instead of text.
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct ExplainFlags {
    #[command(flatten)]
    pub program: ProgramFlags,
    #[command(flatten)]
    pub search: SearchFlags,
    /// Ask for the reason of a bug at most this long.
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    pub diagnose_time: Option<Duration>,
    /// Directory for the page, the traces and the other files.
    #[arg(long, value_name = "DIR", default_value = "unravel-out")]
    pub out: PathBuf,
    /// Print also lines that GitHub shows beside the code.
    #[arg(long)]
    pub annotations: bool,
    /// Print a line a bug and nothing else.
    #[arg(long, short)]
    pub quiet: bool,
    /// Print JSON (unravel.explanation/1) instead of text.
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct ReplayFlags {
    /// A trace that `find` or `run` wrote.
    #[arg(value_name = "TRACE")]
    pub trace: PathBuf,
    /// Another build of the program to replay it on.
    #[arg(long, value_name = "PROGRAM")]
    pub program: Vec<PathBuf>,
    /// Replay this many times.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub times: u32,
    /// Step through the events of the run, forward and back, with values and breakpoints.
    ///
    /// Commands are gdb's: next, back, continue, reverse-continue, break, watch, print, info, list, help, quit. They
    /// are read from standard input, also from a pipe; the program's own input comes from the trace. Events are
    /// operations on what two threads touch: the variables of one thread alone are not shown. A trace that was
    /// imported can be stepped too, though it is not executed.
    #[arg(long, conflicts_with_all = ["times", "json"])]
    pub step: bool,
    /// With --step: carry out this command instead of reading them (several times, or several with `;`).
    #[arg(short = 'x', long = "command", value_name = "CMD", requires = "step")]
    pub commands: Vec<String>,
    /// Print JSON instead of text.
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct DiagnoseFlags {
    /// A failing trace that `find`, `run` or `import` wrote.
    #[arg(value_name = "TRACE")]
    pub trace: PathBuf,
    /// Another build of the program.
    #[arg(long, value_name = "PROGRAM")]
    pub program: Vec<PathBuf>,
    /// Use nothing of the trace but which way each thread went at its branches: find the failing schedule anew.
    #[arg(long)]
    pub paths_only: bool,
    /// How to look for the passing schedule: local, pair, maxsmt, lexico, progressive or progressive-lexico.
    #[arg(long, value_name = "GOAL", default_value_t = Goal::Local)]
    pub goal: Goal,
    /// How many passing schedules to show.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub alternates: usize,
    /// Give a query of the solver up after this many conflicts.
    #[arg(long, value_name = "N")]
    pub conflict_limit: Option<u64>,
    /// Try at most this long: 30s, 5m (default 30s).
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    pub time: Option<Duration>,
    /// Schedules to try at random against the root cause.
    #[arg(long, value_name = "N", default_value_t = 300)]
    pub samples: u64,
    /// Write the queries of the solver to this directory, as SMT-LIB.
    #[arg(long, value_name = "DIR")]
    pub dump_smt: Option<PathBuf>,
    /// Write the projection to this file, for Graphviz.
    #[arg(long, value_name = "FILE")]
    pub dot: Option<PathBuf>,
    /// Print what the stages took to standard error, for benchmarks.
    #[arg(long, hide = true)]
    pub timings: bool,
    /// Print JSON instead of text.
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct RunFlags {
    #[command(flatten)]
    pub program: ProgramFlags,
    /// mix, random, pct, pct:DEPTH, round-robin or run-to-block.
    #[arg(long, value_name = "NAME", default_value = "run-to-block")]
    pub strategy: Strategy,
    /// Which schedule, of a strategy that has several.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// Write the trace of the run to this file.
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Print JSON instead of text.
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct TraceFlags {
    #[command(subcommand)]
    pub command: TraceCommand,
}

#[derive(Debug, Subcommand)]
pub enum TraceCommand {
    /// Show the events of a trace, a column a thread.
    #[command(after_long_help = include_str!("help/show.txt"))]
    Show(ShowFlags),
}

#[derive(Debug, Args)]
pub struct ShowFlags {
    /// A trace that `explain`, `find`, `run` or `import` wrote.
    #[arg(value_name = "TRACE")]
    pub trace: PathBuf,
    /// Columns of the output (default: the terminal's, or 120).
    #[arg(long, value_name = "N")]
    pub width: Option<usize>,
    /// Print JSON instead of text.
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct ImportFlags {
    #[command(subcommand)]
    pub command: ImportCommand,
}

#[derive(Debug, Subcommand)]
pub enum ImportCommand {
    /// The text traces of Symbiosis: a folder with a file a thread (T0, T1, …).
    ///
    /// Such a trace can be shown and diagnosed, but not executed.
    Symbiosis(SymbiosisFlags),
}

#[derive(Debug, Args)]
pub struct SymbiosisFlags {
    /// The folder of the trace.
    #[arg(value_name = "DIR")]
    pub directory: PathBuf,
    /// Where to write the trace.
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
    /// Of a thread with several files T2_0, T2_1, …, read this one (default: the lowest).
    #[arg(long, value_name = "THREAD=PATH", value_parser = parse_path)]
    pub path: Vec<(u32, String)>,
    /// Print JSON instead of text.
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct DoctorFlags {
    /// Print JSON instead of text.
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct CompletionsFlags {
    #[arg(value_name = "SHELL")]
    pub shell: clap_complete::Shell,
}

/// `30s`, `5m`, `1h`, or a number of seconds.
pub fn parse_time(text: &str) -> Result<Duration, String> {
    let (number, unit) = match text.char_indices().find(|(_, c)| c.is_ascii_alphabetic()) {
        Some((at, _)) => text.split_at(at),
        None => (text, "s"),
    };
    let scale = match unit {
        "ms" => 0.001,
        "s" => 1.0,
        "m" => 60.0,
        "h" => 3600.0,
        _ => return Err(format!("'{text}' is no time: write 30s, 5m or 1h")),
    };
    let seconds = number.parse::<f64>().ok().map(|n| n * scale);
    seconds
        .and_then(|s| Duration::try_from_secs_f64(s).ok())
        .ok_or_else(|| format!("'{text}' is no time: write 30s, 5m or 1h"))
}

/// `2=1` or `T2=1`: the path 1 of thread 2.
fn parse_path(text: &str) -> Result<(u32, String), String> {
    let (thread, path) = text.split_once('=').unwrap_or_default();
    let thread = thread.strip_prefix('T').unwrap_or(thread);
    match thread.parse() {
        Ok(thread) => Ok((thread, path.to_owned())),
        Err(_) => Err(format!("'{text}' chooses no path: write 2=1 to read T2_1")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_with_their_units() {
        assert_eq!(parse_time("90"), Ok(Duration::from_secs(90)));
        assert_eq!(parse_time("1.5m"), Ok(Duration::from_secs(90)));
        assert_eq!(parse_time("250ms"), Ok(Duration::from_millis(250)));
        assert!(parse_time("soon").is_err());
        assert!(parse_time("-1s").is_err());
    }

    #[test]
    fn paths_are_chosen_by_thread() {
        assert_eq!(parse_path("2=1"), Ok((2, "1".into())));
        assert_eq!(parse_path("T2=1_fail"), Ok((2, "1_fail".into())));
        assert!(parse_path("2").is_err());
        assert!(parse_path("x=1").is_err());
    }

    #[test]
    fn the_command_line_is_consistent() {
        use clap::CommandFactory;
        Cli::command().debug_assert();
    }
}
