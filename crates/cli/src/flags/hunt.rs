//! `unravel hunt`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use super::{ProgramFlags, parse_time};

#[derive(Debug, Args)]
pub struct HuntFlags {
    /// Let so many runs pass first, and start from them.
    #[arg(long, value_name = "N", default_value_t = 100)]
    pub runs: u64,
    /// PROGRAM is the logs of recorded runs that passed: start from those, and let no others pass.
    #[arg(long, conflicts_with_all = ["runs", "seed"])]
    pub from: bool,
    /// Of logs: let sync operations come in any order, not only in the recorded one.
    #[arg(long, requires = "from")]
    pub no_stamps: bool,
    /// Keep the runs in this database, and start from those that are there, too.
    #[arg(long, value_name = "DIR")]
    pub db: Option<PathBuf>,
    /// The number of the first run: another N starts from other runs.
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub seed: u64,
    /// Leave the program's input open, too: numbers in its arguments and on its standard input.
    #[arg(long)]
    pub symbolic_input: bool,
    /// Go on after the first failure, until nothing is left to ask or the time is up.
    #[arg(long)]
    pub all: bool,
    /// Directory for the report and the traces.
    #[arg(long, value_name = "DIR", default_value = "unravel-out")]
    pub out: PathBuf,
    /// Print nothing but what was exposed, one a line.
    #[arg(long, short)]
    pub quiet: bool,
    /// Print JSON (unravel.hunt/1) instead of text.
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub program: ProgramFlags,
    #[command(flatten)]
    pub extent: HuntExtentFlags,
}

/// How far to look.
#[derive(Debug, Args)]
#[command(next_help_heading = "How far to look")]
pub struct HuntExtentFlags {
    /// Flip only the D branches nearest to an assertion.
    #[arg(long, value_name = "D", default_value_t = 16)]
    pub depth: u32,
    /// Try at most N traces for a flipped branch.
    #[arg(long, value_name = "N", default_value_t = 4)]
    pub traces: u32,
    /// Flip at most so many branches.
    #[arg(long, value_name = "N", default_value_t = 8)]
    pub flips: u32,
    /// Hunt at most this long.
    #[arg(long, value_name = "TIME", value_parser = parse_time, default_value = "60s")]
    pub time: Duration,
}
