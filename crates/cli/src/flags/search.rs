//! Commands that run the program under schedules of their own.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use unravel_explore::Shard;
use unravel_solve::SolverChoice;
use unravel_strategies::Strategy;

use super::ProgramFlags;

/// How to search, and how long.
#[derive(Debug, Args)]
#[command(next_help_heading = "How to search")]
pub struct SearchFlags {
    /// portfolio (all of them, default), random, pct, pct:DEPTH, pos, uniform, race-directed, atomicity-directed,
    /// deadlock-directed, segments, rounds, bounded, bounded:PREEMPTIONS,
    /// exhaustive, round-robin or run-to-block.
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
    /// Let the environment deviate at most so often in a run (default 2): waits that wake or time out early, threads that are
    /// late, weak compare-exchanges and try-locks that fail. Runs without any are tried first.
    #[arg(long, value_name = "N")]
    pub deviations: Option<u32>,
    /// Do only part I of N of the work: for several machines; see `unravel merge-findings`.
    #[arg(long, value_name = "I/N")]
    pub shard: Option<Shard>,
}

#[derive(Debug, Args)]
pub struct ExplainFlags {
    /// Ask for the reason of a bug at most this long.
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    pub diagnose_time: Option<Duration>,
    /// Look for all causes and for repairs at most this long; 0s: not at all (default 15s).
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    pub repair_time: Option<Duration>,
    /// Who proves and optimises: orders, our own, or z3.
    #[arg(
        long,
        value_name = "SOLVER",
        default_value_t,
        env = "UNRAVEL_SOLVER",
        hide_env_values = true
    )]
    pub solver: SolverChoice,
    /// Have every proof of the solver checked without the solver, and say so.
    #[arg(long)]
    pub certify: bool,
    /// Directory for the page, the traces and the other files.
    #[arg(long, value_name = "DIR", default_value = "unravel-out")]
    pub out: PathBuf,
    /// Print also lines that GitHub shows beside the code.
    #[arg(long)]
    pub annotations: bool,
    /// Print a line a bug and nothing else.
    #[arg(long, short)]
    pub quiet: bool,
    /// Print also the numbers, every order, more of both runs, and the other runs that pass.
    #[arg(long, short, conflicts_with = "quiet")]
    pub verbose: bool,
    /// Print JSON (unravel.explanation/1) instead of text.
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub program: ProgramFlags,
    #[command(flatten)]
    pub search: SearchFlags,
}

#[derive(Debug, Args)]
pub struct FindFlags {
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
    #[command(flatten)]
    pub program: ProgramFlags,
    #[command(flatten)]
    pub search: SearchFlags,
}

#[derive(Debug, Args)]
pub struct MergeFlags {
    /// What the parts of a search wrote: directories, or single `.part.json` files.
    #[arg(value_name = "PART", required = true)]
    pub parts: Vec<PathBuf>,
    /// Directory for traces.
    #[arg(long, value_name = "DIR", default_value = "unravel-out")]
    pub out: PathBuf,
    /// Print JSON instead of text.
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct RunFlags {
    /// portfolio, random, pct, pct:DEPTH, pos, uniform, race-directed, atomicity-directed, deadlock-directed, segments,
    /// rounds, round-robin or run-to-block.
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
    #[command(flatten)]
    pub program: ProgramFlags,
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
}
