//! `unravel causes` and `unravel repair`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use super::{ProgramFlags, parse_time};

/// How far to look.
#[derive(Debug, Args)]
#[command(next_help_heading = "How far to look")]
pub struct ExtentFlags {
    /// Look at most this long (default 60s).
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    pub time: Option<Duration>,
    /// Keep at most this many classes of schedules (default 300000).
    #[arg(long, value_name = "N")]
    pub classes: Option<usize>,
    /// Try so many inputs if the program asks for nondeterministic values and none are given (default 3).
    #[arg(long, value_name = "N")]
    pub inputs: Option<u32>,
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
