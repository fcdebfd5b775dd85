//! The benchmarks, which `cargo xtask bench` starts. Each prints a table and ends with one headline line.
//!
//! They are a crate of their own because some of them ask the solvers: `cargo xtask` itself must not wait until these are
//! compiled. Exit codes are those of `cargo xtask`: 0 all is well, 1 something does not hold, 2 it could not be measured.

mod causes;
mod classes;
mod coop;
mod diagnose;
mod evaluate;
mod explain;
mod generated;
mod hunt;
mod length;
mod measure;
mod native;
mod rebuild;
mod record;
mod scale;
mod search;
mod simplify;
mod solve;
mod vm;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::scale::Scale;
use xtask::error::Error;

/// Measure; each benchmark ends with one headline line.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask bench", bin_name = "cargo xtask bench", max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    subject: Subject,
    /// Only see whether it runs: one small case, once. The figures mean nothing.
    #[arg(long, global = true)]
    smoke: bool,
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
    /// How many classes of schedules there are to execute, by shape of synchronisation and number of threads.
    Classes(classes::ClassesFlags),
    /// How long the report takes once the bug was found.
    Explain {
        /// Only corpus cases whose `kind/name` contains this.
        filter: Option<String>,
    },
    /// What an explanation costs after 1,000 to 1,000,000 events, and whether it is right.
    Length,
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
        /// From so many logs of native runs that passed, instead of runs of the machine.
        #[arg(long, value_name = "N")]
        from_logs: Option<usize>,
    },
    /// CoopREP's evaluation: attempts to replay by heuristic and coverage, time to weigh logs, growth.
    Coop {
        /// Only corpus cases whose `kind/name` contains this.
        filter: Option<String>,
        /// How often elements are drawn; the median counts.
        #[arg(long, value_name = "N", default_value_t = 10)]
        draws: u64,
        /// Order-based only.
        #[arg(long, conflicts_with = "native")]
        orders: bool,
        /// Only elements that our own profiles have, without those whose order creating and joining threads gives.
        #[arg(long, conflicts_with = "native")]
        open: bool,
        /// The paper's merge alone, no holes filled.
        #[arg(long, conflicts_with = "native")]
        alone: bool,
        /// Instead: what recording costs natively and how large its logs are, on the programs of `bench/coop`.
        #[arg(long)]
        native: bool,
        /// With --native: on all cores instead of one.
        #[arg(long, requires = "native")]
        spread: bool,
        /// With --native: how long the plain programs take at least.
        #[arg(long, value_name = "SECONDS", default_value_t = 1.0)]
        seconds: f64,
        /// With --native: how often all variants are run in turn.
        #[arg(long, value_name = "N", default_value_t = 3)]
        turns: usize,
        /// With --native: rows that are in this file are taken from there, others are added to it.
        #[arg(long, value_name = "FILE", requires = "native")]
        rows: Option<PathBuf>,
    },
    /// Native failures of the corpus, recorded and confirmed from their logs alone.
    Rebuild {
        /// Only corpus cases whose `kind/name` contains this.
        filter: Option<String>,
        /// Native runs a program, until it counts as not failing.
        #[arg(long, value_name = "N", default_value_t = 10_000)]
        runs: u64,
        /// And so many seconds.
        #[arg(long, value_name = "SECONDS", default_value_t = 60)]
        seconds: u64,
        /// Keep programs and logs here, a folder a case.
        #[arg(long, value_name = "DIR")]
        keep: Option<PathBuf>,
        /// Renew the rows of this page.
        #[arg(long, value_name = "FILE")]
        page: Option<PathBuf>,
    },
    /// Our own solver and Z3 on the same instances: time, conflicts, memory, growth.
    Solve(solve::SolveFlags),
    /// What recording costs, what it writes, how fast that is decoded, beside the papers' profiling.
    Record,
    /// The tables of the six papers beside ours, as `docs/evaluation.md`; fails if a claim of the page does not hold.
    Evaluate(evaluate::EvaluateFlags),
    /// One question of `solve`, in a process of its own.
    #[command(hide = true)]
    SolveOne(solve::One),
}

fn main() -> ExitCode {
    let Cli { mut subject, smoke } = Cli::parse();
    let scale = if smoke { Scale::Smoke } else { Scale::Whole };
    if scale == Scale::Smoke {
        subject.shrink();
    }
    match run(subject, scale) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(2)
        }
    }
}

impl Subject {
    /// Flags for the least that there is to measure. The cases have a row in the paper's tables, if the benchmark has such.
    fn shrink(&mut self) {
        let small = |filter: &mut Option<String>, case: &str| {
            filter.get_or_insert_with(|| case.to_owned());
        };
        match self {
            Subject::Search { filter, seeds } => {
                small(filter, "atomicity/bbuf");
                *seeds = 1;
            }
            Subject::Classes(flags) => flags.shrink(),
            Subject::Explain { filter } => small(filter, "atomicity/account"),
            Subject::Simplify { filter, traces } => {
                small(filter, "atomicity/bbuf");
                *traces = 1;
            }
            // Two cases: `airline` is a row of the papers, `account` is one of the others.
            Subject::Diagnose { filter, .. } => small(filter, "atomicity/a"),
            // It is one of the paper's examples, too.
            Subject::Causes { filter, .. } => small(filter, "real/transmission-1.42"),
            Subject::Hunt { filter, .. } => small(filter, "atomicity/account"),
            Subject::Coop { filter, native: true, .. } => small(filter, "weblech"),
            Subject::Coop { filter, draws, .. } => {
                small(filter, "deadlock/deadlock");
                *draws = 1;
            }
            // Hangs in nearly every run.
            Subject::Rebuild { filter, .. } => small(filter, "cpp/ledger"),
            Subject::Solve(flags) => flags.shrink(),
            Subject::Vm
            | Subject::Length
            | Subject::Record
            | Subject::Evaluate(_)
            | Subject::SolveOne(_) => {}
        }
    }
}

/// False if something that was checked is not as it should be.
fn run(subject: Subject, scale: Scale) -> Result<bool, Error> {
    match subject {
        Subject::Vm => vm::run(scale).map(|()| true),
        Subject::Search { filter, seeds } => search::run(filter.as_deref(), seeds).map(|()| true),
        Subject::Classes(flags) => classes::run(&flags),
        Subject::Explain { filter } => explain::run(filter.as_deref()).map(|()| true),
        Subject::Length => length::run(scale),
        Subject::Simplify { filter, traces } => {
            simplify::run(filter.as_deref(), traces).map(|()| true)
        }
        Subject::Diagnose { filter, traces } => {
            diagnose::run(filter.as_deref(), &traces, scale).map(|()| true)
        }
        Subject::Causes { filter, repairs: false } => causes::run(filter.as_deref(), scale),
        Subject::Causes { filter, repairs: true } => causes::repairs::run(filter.as_deref()),
        Subject::Hunt { filter, from_logs: Some(logs) } => hunt::logs::run(filter.as_deref(), logs),
        Subject::Hunt { filter, from_logs: None } => hunt::run(filter.as_deref()),
        Subject::Coop { filter, native: true, spread, seconds, turns, rows, .. } => {
            let how = coop::overhead::How { spread, seconds, turns };
            coop::overhead::run(filter.as_deref(), how, rows.as_deref(), scale)
        }
        Subject::Coop { filter, draws, orders, alone, open, .. } => {
            let sharing = match open {
                true => unravel_coop::Sharing::Open,
                false => unravel_coop::Sharing::Touched,
            };
            let what = coop::What { draws, orders, alone, sharing };
            coop::run(filter.as_deref(), what, scale)
        }
        Subject::Rebuild { filter, runs, seconds, keep, page } => {
            let time = std::time::Duration::from_secs(seconds);
            let extent = rebuild::Extent { runs, time };
            rebuild::run(filter.as_deref(), extent, keep.as_deref(), page.as_deref())
        }
        Subject::Solve(flags) => solve::run(&flags, scale),
        Subject::Record => record::run(scale).map(|()| true),
        Subject::Evaluate(flags) => evaluate::run(&flags),
        Subject::SolveOne(one) => solve::answer(&one)
            .map(|()| true)
            .map_err(|problem| Error::Answer { command: "solve-one".into(), problem }),
    }
}
