//! `unravel db`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

#[derive(Debug, Args)]
pub struct DbFlags {
    #[command(subcommand)]
    pub command: DbCommand,
}

#[derive(Debug, Subcommand)]
pub enum DbCommand {
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
