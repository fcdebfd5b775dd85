//! Recording real runs, and looking into their logs.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand};

use super::parse_time;

#[derive(Debug, Args)]
pub struct RecordFlags {
    /// Where to write the log.
    #[arg(short, long, value_name = "LOG", default_value = "unravel.log")]
    pub output: PathBuf,
    /// Keep only the last so many megabytes of each thread (a flight recorder) instead of everything.
    #[arg(long, value_name = "MB", value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub flight: Option<u32>,
    /// Record paths alone, without sync operations.
    #[arg(long)]
    pub no_sync: bool,
    /// Keep what the program is given, too: its arguments and its standard input.
    #[arg(long)]
    pub inputs: bool,
    /// Close the log as a hang, and end the program, if it still runs after this time.
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    pub hang_after: Option<Duration>,
    /// Print JSON instead of text.
    #[arg(long)]
    pub json: bool,
    /// The program, built by unravel-cc, and its arguments.
    #[arg(last = true, required = true, value_name = "PROGRAM")]
    pub program: Vec<std::ffi::OsString>,
}

#[derive(Debug, Args)]
pub struct LogFlags {
    #[command(subcommand)]
    pub command: LogCommand,
}

#[derive(Debug, Subcommand)]
pub enum LogCommand {
    /// Threads, how the run ended, what is lost, and the last branches with their source lines.
    Show(LogShowFlags),
    /// Sizes and rates, and how fast the log is decoded.
    Stats(LogStatsFlags),
}

#[derive(Debug, Args)]
pub struct LogShowFlags {
    /// A log that a recorded program wrote.
    #[arg(value_name = "LOG")]
    pub log: PathBuf,
    /// How many of the last records of each thread to show.
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub last: usize,
    /// Print JSON instead of text.
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct LogStatsFlags {
    /// A log that a recorded program wrote.
    #[arg(value_name = "LOG")]
    pub log: PathBuf,
    /// Print JSON instead of text.
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct CcFlags {
    /// As for cc or c++.
    #[arg(value_name = "ARG", trailing_var_arg = true, allow_hyphen_values = true)]
    pub arguments: Vec<std::ffi::OsString>,
}
