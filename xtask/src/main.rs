//! `cargo xtask`: everything a contributor needs, in one command.
//!
//! Exit codes: 0 all is well, 1 a check or a test failed, 2 the command could not be carried out.

mod bench;
mod corpus;
mod error;
mod suite;
mod tally;
mod workspace;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};

use crate::corpus::Depth;
use crate::error::Error;

#[derive(Debug, Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask", max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    command: Option<Task>,
}

#[derive(Debug, Subcommand)]
enum Task {
    /// rustfmt and clippy, warnings denied.
    Check,
    /// The whole suite: unit, property and fuzz tests, then the corpus.
    Test {
        /// Every corpus case with every strategy and more schedules, and more fuzzing.
        #[arg(long)]
        full: bool,
    },
    /// The corpus alone: find, replay 20 times, diagnose, explain, and leave the fixed twins alone.
    Corpus {
        /// Only cases whose `kind/name` contains this.
        filter: Option<String>,
        /// Every strategy also on the buggy programs, and more schedules.
        #[arg(long)]
        full: bool,
    },
    /// Measure; each benchmark ends with one headline line.
    Bench {
        #[command(subcommand)]
        subject: Subject,
    },
    /// One question of `bench solve`, in a process of its own.
    #[command(hide = true)]
    SolveOne(bench::solve::One),
    /// Fuzz the reader of trace files.
    Fuzz {
        /// How many damaged files to try.
        #[arg(default_value_t = suite::LONG_FUZZ)]
        iterations: u64,
        /// Where to begin; another seed makes other files.
        #[arg(long)]
        seed: Option<u64>,
    },
}

#[derive(Debug, Subcommand)]
enum Subject {
    /// The interpreter against native code, and schedules per second against fork and exec.
    Vm,
    /// Executions to the first failure, by strategy; search and simplification against context bounding.
    Search {
        /// Only corpus cases whose `kind/name` contains this.
        filter: Option<String>,
        /// How many seeds.
        #[arg(long, default_value_t = 30)]
        seeds: u64,
    },
    /// How long the report takes once the bug was found.
    Explain {
        /// Only corpus cases whose `kind/name` contains this.
        filter: Option<String>,
    },
    /// Context switches before and after simplification, and how far from the optimum, beside the paper's figures.
    Simplify {
        /// Only corpus cases whose `kind/name` contains this.
        filter: Option<String>,
        /// Failing traces a bug, each from another seed.
        #[arg(long, value_name = "N", default_value_t = 30)]
        traces: u64,
    },
    /// Size and time of diagnoses beside the papers' figures, and how time grows with the trace.
    Diagnose {
        /// Only corpus cases whose `kind/name` contains this.
        filter: Option<String>,
        /// A folder of Symbiosis' text traces to import and diagnose too.
        #[arg(long = "trace", value_name = "DIR")]
        traces: Vec<PathBuf>,
    },
    /// All causes of ConcBugAssist's 34 programs beside its figures, or the repairs of every corpus bug.
    Causes {
        /// Only corpus cases whose `kind/name` contains this.
        filter: Option<String>,
        /// Repair every bug of the corpus instead, and search each repaired program.
        #[arg(long)]
        repairs: bool,
    },
    /// The bugs of Cortex's 17 programs exposed from runs that passed, beside its figures; the twins stay silent.
    Hunt {
        /// Only corpus cases whose `kind/name` contains this.
        filter: Option<String>,
    },
    /// Our own solver and Z3 on the same instances: time, conflicts, memory, growth.
    Solve(bench::solve::SolveFlags),
}

fn main() -> ExitCode {
    let Some(task) = Cli::parse().command else {
        // Without a command: the list of commands.
        let _ = Cli::command().print_help();
        return ExitCode::SUCCESS;
    };
    match run(task) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(2)
        }
    }
}

/// False if something that was checked is not as it should be.
fn run(task: Task) -> Result<bool, Error> {
    let depth = |full| if full { Depth::Full } else { Depth::Plain };
    match task {
        Task::Check => suite::check(),
        Task::Test { full } => suite::test(depth(full)),
        Task::Corpus { filter, full } => {
            let tally = corpus::run(filter.as_deref(), depth(full))?;
            println!("{tally}");
            Ok(tally.is_good())
        }
        Task::Bench { subject: Subject::Vm } => bench::vm::run().map(|()| true),
        Task::Bench { subject: Subject::Diagnose { filter, traces } } => {
            bench::diagnose::run(filter.as_deref(), &traces).map(|()| true)
        }
        Task::Bench { subject: Subject::Simplify { filter, traces } } => {
            bench::simplify::run(filter.as_deref(), traces).map(|()| true)
        }
        Task::Bench { subject: Subject::Search { filter, seeds } } => {
            bench::search::run(filter.as_deref(), seeds).map(|()| true)
        }
        Task::Bench { subject: Subject::Explain { filter } } => {
            bench::explain::run(filter.as_deref()).map(|()| true)
        }
        Task::Bench { subject: Subject::Causes { filter, repairs: false } } => {
            bench::causes::run(filter.as_deref())
        }
        Task::Bench { subject: Subject::Causes { filter, repairs: true } } => {
            bench::causes::repairs::run(filter.as_deref())
        }
        Task::Bench { subject: Subject::Hunt { filter } } => bench::hunt::run(filter.as_deref()),
        Task::Bench { subject: Subject::Solve(flags) } => bench::solve::run(&flags),
        Task::SolveOne(one) => bench::solve::answer(&one)
            .map(|()| true)
            .map_err(|problem| Error::Answer { command: "solve-one".into(), problem }),
        Task::Fuzz { iterations, seed } => suite::fuzz(iterations, seed),
    }
}
