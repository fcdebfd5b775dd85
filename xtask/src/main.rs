//! `cargo xtask`: everything a contributor needs, in one command.
//!
//! Exit codes: 0 all is well, 1 a check or a test failed, 2 the command could not be carried out.

mod suite;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};

use xtask::corpus::Depth;
use xtask::error::Error;
use xtask::workspace::Profile;

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
        /// Every corpus case with every strategy and more schedules, and more fuzzing; then tests and corpus once more,
        /// compiled with debug assertions and checks for overflow.
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
        /// A tool compiled with debug assertions and checks for overflow.
        #[arg(long)]
        checked: bool,
    },
    /// Measure; each benchmark ends with one headline line. Without a name: the list of benchmarks.
    #[command(disable_help_flag = true)]
    Bench {
        /// Which benchmark, and its flags.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<OsString>,
    },
    /// The tables of the papers beside ours: writes `docs/evaluation.md`, and fails if a claim of the page does not hold.
    #[command(disable_help_flag = true)]
    Evaluate {
        /// `--table NAME`: one table, printed. `--quick`: one row of each. `--help`: all there is.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<OsString>,
    },
    /// Whether JSON reports of `explain` in a folder contradict themselves.
    Consistent { folder: std::path::PathBuf },
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
        Task::Corpus { filter, full, checked } => {
            let profile = if checked { Profile::Checked } else { Profile::Release };
            suite::corpus(filter.as_deref(), depth(full), profile)
        }
        Task::Bench { arguments } => Err(suite::bench(&arguments)),
        Task::Evaluate { arguments } => {
            let all = [vec!["evaluate".into()], arguments].concat();
            Err(suite::bench(&all))
        }
        Task::Consistent { folder } => xtask::consistent::check_folder(&folder),
        Task::Fuzz { iterations, seed } => suite::fuzz(iterations, seed),
    }
}
