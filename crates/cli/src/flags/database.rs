//! `unravel db`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand};

use super::{ProgramFlags, parse_time};

#[derive(Debug, Args)]
pub struct DbFlags {
    #[command(subcommand)]
    pub command: DbCommand,
}

#[derive(Debug, Subcommand)]
pub enum DbCommand {
    /// Let a program run, and keep the runs that pass: for a later hunt, perhaps elsewhere.
    Record(Box<DbRecordFlags>),
    /// Say what is in a database: runs, traces of each thread, what sharing saves, damage.
    Stats(DbStatsFlags),
    /// List the runs of a database, one a line: the paths of their threads, how often they were seen, where they came from.
    Show(DbDirectoryFlags),
    /// Add what other databases of the same program know.
    Merge(DbMergeFlags),
    /// Rewrite the files of a database as one.
    Compact(DbDirectoryFlags),
}

#[derive(Debug, Args)]
pub struct DbRecordFlags {
    /// The database; made if it is not there.
    #[arg(value_name = "DIR")]
    pub directory: PathBuf,
    /// Let so many runs pass.
    #[arg(long, value_name = "N", default_value_t = 100)]
    pub runs: u64,
    /// The number of the first run: another N records other runs.
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub seed: u64,
    /// Record at most this long.
    #[arg(long, value_name = "TIME", value_parser = parse_time, default_value = "60s")]
    pub time: Duration,
    #[command(flatten)]
    pub program: ProgramFlags,
}

#[derive(Debug, Args)]
pub struct DbStatsFlags {
    /// The database.
    #[arg(value_name = "DIR")]
    pub directory: PathBuf,
    /// Print JSON (unravel.database/1) instead of text.
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct DbDirectoryFlags {
    /// The database.
    #[arg(value_name = "DIR")]
    pub directory: PathBuf,
}

#[derive(Debug, Args)]
pub struct DbMergeFlags {
    /// The database that grows; made if it is not there.
    #[arg(value_name = "INTO")]
    pub into: PathBuf,
    /// The databases that are read.
    #[arg(value_name = "FROM", required = true)]
    pub from: Vec<PathBuf>,
}
