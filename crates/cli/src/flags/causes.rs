//! `unravel causes` and `unravel repair`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use super::{ProgramFlags, parse_time};

/// How far to look.
#[derive(Debug, Args)]
#[command(next_help_heading = "How far to look")]
pub struct ExtentFlags {
    /// Look for causes at most this long (default 30s).
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    pub time: Option<Duration>,
    /// Keep at most this many classes of schedules (default 300000).
    #[arg(long, value_name = "N")]
    pub classes: Option<usize>,
    /// Try at most so many inputs, if the program asks for nondeterministic values and none are given (default 8).
    #[arg(long, value_name = "N")]
    pub inputs: Option<u32>,
    /// Let the environment deviate at most so often in a run (default 0).
    #[arg(long, value_name = "N")]
    pub deviations: Option<u32>,
}

#[derive(Debug, Args)]
pub struct CausesFlags {
    /// Directory for the page and the traces.
    #[arg(long, value_name = "DIR", default_value = "unravel-out")]
    pub out: PathBuf,
    /// Write the causes as a graph for Graphviz to this file.
    #[arg(long, value_name = "FILE")]
    pub dot: Option<PathBuf>,
    /// Print nothing but the causes, one a line.
    #[arg(long, short)]
    pub quiet: bool,
    /// Print JSON (unravel.causes/1) instead of text.
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub program: ProgramFlags,
    #[command(flatten)]
    pub extent: ExtentFlags,
}

#[derive(Debug, Args)]
pub struct RepairFlags {
    /// Directory for the page, the diffs and the traces.
    #[arg(long, value_name = "DIR", default_value = "unravel-out")]
    pub out: PathBuf,
    /// Show at most this many repairs.
    #[arg(long, value_name = "N", default_value_t = 5)]
    pub most: usize,
    /// Try candidates at most this long, after the causes are known (default 60s).
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    pub repair_time: Option<Duration>,
    /// Explore each repaired program with so many schedules, where not all classes can be explored.
    #[arg(long, value_name = "N", default_value_t = 2500)]
    pub schedules: u64,
    /// Write a regression test that fails now and passes with a repair to this directory.
    #[arg(long, value_name = "DIR")]
    pub emit_test: Option<PathBuf>,
    /// Worker processes (default: one a core).
    #[arg(long, short, value_name = "N")]
    pub jobs: Option<usize>,
    /// Print nothing but the diff of the best repair.
    #[arg(long, short)]
    pub quiet: bool,
    /// Print JSON (unravel.repairs/1) instead of text.
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub program: ProgramFlags,
    #[command(flatten)]
    pub extent: ExtentFlags,
}
