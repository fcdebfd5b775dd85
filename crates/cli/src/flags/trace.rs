//! Commands on traces.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand};
use unravel_diagnose::Goal;
use unravel_files::import::symbiosis::ThreadNumber;
use unravel_solve::SolverChoice;

use super::parse_time;

#[derive(Debug, Args)]
pub struct ReplayFlags {
    /// A trace that `explain`, `find` or `run` wrote.
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
    /// A failing trace that `explain`, `find`, `run` or `import` wrote, or the log of a recorded run that failed.
    #[arg(value_name = "TRACE")]
    pub trace: PathBuf,
    /// Of a log: arguments of the program, if the log does not have them.
    #[arg(last = true, value_name = "ARG")]
    pub args: Vec<String>,
    /// Of a log: file to use as standard input.
    #[arg(long, value_name = "FILE")]
    pub stdin: Option<PathBuf>,
    /// Of a log: use a native library.
    #[arg(short = 'l', value_name = "LIBRARY")]
    pub library: Vec<String>,
    /// Of a log: let sync operations come in any order, not only in the recorded one.
    #[arg(long)]
    pub no_stamps: bool,
    /// Of a log: directory for the kept module and the trace.
    #[arg(long, value_name = "DIR", default_value = "unravel-out")]
    pub out: PathBuf,
    /// Another build of the program.
    #[arg(long, value_name = "PROGRAM")]
    pub program: Vec<PathBuf>,
    /// Of an imported trace: the database of all executions that were recorded with it (default: the one beside TRACE, named as it
    /// with .db, if it is there).
    #[arg(long, value_name = "DIR")]
    pub db: Option<PathBuf>,
    /// Use nothing of the trace but which way each thread went at its branches: find the failing schedule anew.
    #[arg(long)]
    pub paths_only: bool,
    /// How to look for the passing schedule: local, pair, maxsmt, lexico, progressive or progressive-lexico.
    #[arg(long, value_name = "GOAL", default_value_t = Goal::Local)]
    pub goal: Goal,
    /// How many passing schedules to show.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub alternates: usize,
    /// Who proves and optimises: orders, our own, or z3.
    #[arg(
        long,
        value_name = "SOLVER",
        default_value_t,
        env = "UNRAVEL_SOLVER",
        hide_env_values = true
    )]
    pub solver: SolverChoice,
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
    /// Have every proof of the solver checked without the solver; the certificates are written to DIR, if one is given.
    #[arg(long, value_name = "DIR", num_args = 0..=1, require_equals = true)]
    pub certify: Option<Option<PathBuf>>,
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
pub struct CertifyFlags {
    /// The failing trace that was diagnosed.
    #[arg(value_name = "TRACE")]
    pub trace: PathBuf,
    /// What `diagnose TRACE --certify=DIR` wrote to DIR.
    #[arg(value_name = "CERTIFICATE", required = true)]
    pub certificates: Vec<PathBuf>,
    /// Another build of the program.
    #[arg(long, value_name = "PROGRAM")]
    pub program: Vec<PathBuf>,
    /// Print JSON instead of text.
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct SimplifyFlags {
    /// A failing trace that `explain`, `find` or `run` wrote.
    #[arg(value_name = "TRACE")]
    pub trace: PathBuf,
    /// Where to write the simplified trace (default: beside TRACE, with `-simple` in its name).
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Another build of the program.
    #[arg(long, value_name = "PROGRAM")]
    pub program: Vec<PathBuf>,
    /// Stop after this long, with the best run by then: 30s, 5m (default 60s).
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    pub time: Option<Duration>,
    /// Execute at most this many schedules to prove that there is no simpler run.
    #[arg(long, value_name = "N", default_value_t = 200_000)]
    pub proof: u64,
    /// Do not try to prove it.
    #[arg(long, conflicts_with = "proof")]
    pub no_proof: bool,
    /// Simplify only the last N events, and leave what comes before as it is; nothing is proved then.
    #[arg(long, value_name = "N", conflicts_with = "proof")]
    pub suffix: Option<u64>,
    /// No progress, and no list of preemptions.
    #[arg(short, long)]
    pub quiet: bool,
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
    #[command(after_long_help = include_str!("../help/show.txt"))]
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
    /// The text traces of Symbiosis and Cortex: a folder with a file a thread (T0, T1, …).
    ///
    /// Such a trace can be shown and diagnosed, but not executed. A folder with several executions, or several paths of a thread, is
    /// also kept as a database, over which `diagnose` searches.
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
    /// Where to keep all executions, if there are several paths of a thread (default: as FILE, with .db).
    #[arg(long, value_name = "DIR")]
    pub db: Option<PathBuf>,
    /// Of several executions (files T2_EXECUTION_PATH), read this one (default: one that failed, else one with an assertion).
    #[arg(long, value_name = "EXECUTION", allow_hyphen_values = true)]
    pub execution: Option<String>,
    /// Of a thread with several files T2_0, T2_1, …, read this one (default: the lowest).
    #[arg(long, value_name = "THREAD=PATH", value_parser = parse_path)]
    pub path: Vec<(ThreadNumber, String)>,
    /// The thread whose last path condition is the failure, where no file is marked with <assertThread_fail> or
    /// <assertThread_ok>.
    #[arg(long, value_name = "THREAD")]
    pub failing: Option<ThreadNumber>,
    /// Print JSON instead of text.
    #[arg(long)]
    pub json: bool,
}

/// `2=1` or `T2=1`: the path 1 of thread 2.
fn parse_path(text: &str) -> Result<(ThreadNumber, String), String> {
    let (thread, path) = text.split_once('=').unwrap_or_default();
    match thread.parse() {
        Ok(thread) => Ok((thread, path.to_owned())),
        Err(_) => Err(format!("'{text}' chooses no path: write 2=1 to read T2_1")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_chosen_by_thread() {
        let is = |thread: &str, path: &str| Ok((thread.parse().expect("a thread"), path.into()));
        assert_eq!(parse_path("2=1"), is("2", "1"));
        assert_eq!(parse_path("T2=1_fail"), is("2", "1_fail"));
        assert_eq!(parse_path("1.2=-7"), is("1.2", "-7"));
        assert!(parse_path("2").is_err());
        assert!(parse_path("x=1").is_err());
    }
}
