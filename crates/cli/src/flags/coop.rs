//! `unravel coop`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use unravel_coop::{Coverage, DEFAULT_ATTEMPTS, DEFAULT_FILLS, Heuristic, Metric};

use super::ProgramFlags;

#[derive(Debug, Args)]
pub struct CoopFlags {
    #[command(subcommand)]
    pub command: CoopCommand,
}

#[derive(Debug, Subcommand)]
pub enum CoopCommand {
    /// Find what threads share, and say which part of it each instance logs.
    Profile(Box<CoopProfileFlags>),
    /// Build the program natively, so that it logs the elements of a profile.
    Build(Box<CoopBuildFlags>),
    /// Run instances in the machine or natively, each logging its part: one file a run.
    Record(Box<CoopRecordFlags>),
    /// Take files of instances into a store, each log once; what is no log of this build is set aside.
    Ingest(CoopIngestFlags),
    /// Rank the failing logs of a store by how well they can be completed.
    Analyse(CoopAnalyseFlags),
    /// Merge logs and replay them until one fails as it did in the field; write the trace.
    Replay(Box<CoopReplayFlags>),
    /// Do all of it on this machine: a fleet of instances, partial logs, a replay, the diagnosis.
    Demo(Box<CoopDemoFlags>),
}

/// What instances log.
#[derive(Debug, Args)]
#[command(next_help_heading = "What instances log")]
pub struct ShareFlags {
    /// How many instances there are.
    #[arg(long, value_name = "N", default_value_t = 200)]
    pub instances: usize,
    /// How much each logs: a percentage of the elements, or 1 for a single one.
    #[arg(long, value_name = "PART", default_value = "50%")]
    pub coverage: Coverage,
    /// Deal elements so that all instances log about as many accesses, instead of drawing them uniformly.
    #[arg(long)]
    pub informed: bool,
    /// Log the order in which basic blocks are entered, instead of accesses to variables and locks.
    #[arg(long)]
    pub blocks: bool,
    /// Which draw: of elements, of runs, of what is tried around a merged log.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
}

/// How logs are merged, and how much is tried.
#[derive(Debug, Args)]
#[command(next_help_heading = "How logs are merged")]
pub struct MergeHow {
    /// How similar logs are: psim, dsim or dhs.
    #[arg(long, value_name = "NAME", default_value = "dsim")]
    pub metric: Metric,
    /// Which logs come first: sgm (similarity-guided merge) or dgm (dispersion-guided).
    #[arg(long, value_name = "NAME", default_value = "dgm")]
    pub heuristic: Heuristic,
    /// Which of several failures, by its number in the list of `analyse`.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub failure: usize,
}

/// How much is replayed.
#[derive(Debug, Args)]
#[command(next_help_heading = "How much is replayed")]
pub struct AttemptFlags {
    /// Replay at most so many merged logs.
    #[arg(long, value_name = "N", default_value_t = DEFAULT_ATTEMPTS)]
    pub attempts: u32,
    /// Execute each so many times more, with what its orders leave open drawn at random; 0 is the paper's way.
    #[arg(long, value_name = "N", default_value_t = DEFAULT_FILLS)]
    pub fill: u32,
}

#[derive(Debug, Args)]
pub struct CoopProfileFlags {
    /// Where to write the profile.
    #[arg(long, short, value_name = "FILE", default_value = "profile.json")]
    pub output: PathBuf,
    /// Print JSON instead of text.
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub share: ShareFlags,
    #[command(flatten)]
    pub program: ProgramFlags,
}

#[derive(Debug, Args)]
pub struct CoopBuildFlags {
    /// The profile whose elements it can log.
    #[arg(long, value_name = "FILE", default_value = "profile.json")]
    pub profile: PathBuf,
    /// Let it log this instance's elements alone, counted from 0, and leave all else as it is (default: whatever it is told at its start).
    #[arg(long, value_name = "N")]
    pub instance: Option<usize>,
    /// Where to write the native program.
    #[arg(long, short, value_name = "FILE")]
    pub output: PathBuf,
    /// Print JSON instead of text.
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub program: ProgramFlags,
}

#[derive(Debug, Args)]
pub struct CoopRecordFlags {
    /// The profile that says what each instance logs.
    #[arg(long, value_name = "FILE", default_value = "profile.json")]
    pub profile: PathBuf,
    /// Only this instance, counted from 0 (default: all of them).
    #[arg(long, value_name = "N")]
    pub instance: Option<usize>,
    /// Runs of each instance.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub runs: u64,
    /// Which draw of runs.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// Let threads switch at every event, instead of after slices as a system gives them.
    #[arg(long)]
    pub random: bool,
    /// Run this native program, which `unravel coop build` made, instead of the machine.
    #[arg(long, value_name = "FILE", conflicts_with = "random")]
    pub native: Option<PathBuf>,
    /// In the machine: keep which way threads went at their branches in runs that fail, in this directory.
    #[arg(long, value_name = "DIR", conflicts_with = "native")]
    pub paths: Option<PathBuf>,
    /// Follow each log in the machine, and say whether it comes to the same vectors and the same end.
    #[arg(long)]
    pub verify: bool,
    /// With a native program: all elements are logged, whatever the profile says.
    #[arg(long, requires = "native")]
    pub all: bool,
    /// With a native program: set a variable of its environment.
    #[arg(long, value_name = "NAME=VALUE", requires = "native")]
    pub env: Vec<String>,
    /// With a native program: a run that takes so many milliseconds hangs.
    #[arg(long, value_name = "MS", default_value_t = 5000)]
    pub hang_after: u64,
    /// With a native program: take the log that it wrote elsewhere, instead of running it.
    #[arg(long, value_name = "FILE", requires = "native")]
    pub log: Vec<PathBuf>,
    /// Directory for the logs.
    #[arg(long, value_name = "DIR", default_value = "logs")]
    pub out: PathBuf,
    /// Print JSON instead of text.
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub program: ProgramFlags,
}

#[derive(Debug, Args)]
pub struct CoopIngestFlags {
    /// Files, or directories of files, that instances sent.
    #[arg(value_name = "FROM", required = true)]
    pub from: Vec<PathBuf>,
    /// The profile that the instances logged by.
    #[arg(long, value_name = "FILE", default_value = "profile.json")]
    pub profile: PathBuf,
    /// The store; made if it is not there.
    #[arg(long, value_name = "DIR", default_value = "fleet")]
    pub into: PathBuf,
    /// Print JSON instead of text.
    #[arg(long)]
    pub json: bool,
}

/// Who computes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum Engine {
    /// This process.
    Embedded,
    /// Apache Spark, over the same files.
    Spark,
}

#[derive(Debug, Args)]
pub struct CoopAnalyseFlags {
    /// The store.
    #[arg(value_name = "STORE")]
    pub store: PathBuf,
    /// The profile that the instances logged by.
    #[arg(long, value_name = "FILE", default_value = "profile.json")]
    pub profile: PathBuf,
    /// Who computes.
    #[arg(long, value_enum, default_value_t = Engine::Embedded)]
    pub engine: Engine,
    /// With Spark: where (`local[4]`, `spark://HOST:7077`, `yarn`; default: as Spark is configured).
    #[arg(long, value_name = "URL")]
    pub master: Option<String>,
    /// With Spark: split the logs into so many parts.
    #[arg(long, value_name = "N")]
    pub partitions: Option<u32>,
    /// Print JSON instead of text.
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub how: MergeHow,
}

#[derive(Debug, Args)]
pub struct CoopReplayFlags {
    /// The store.
    #[arg(long, value_name = "DIR", default_value = "fleet")]
    pub store: PathBuf,
    /// The profile that the instances logged by.
    #[arg(long, value_name = "FILE", default_value = "profile.json")]
    pub profile: PathBuf,
    /// Which draw of what merged logs leave open.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// Instead of merging: the solver fills in what a log leaves open, along the paths that `record` kept in this directory.
    #[arg(long, value_name = "DIR", conflicts_with = "fill")]
    pub paths: Option<PathBuf>,
    /// Directory for the trace.
    #[arg(long, value_name = "DIR", default_value = "unravel-out")]
    pub out: PathBuf,
    /// Print JSON instead of text.
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub how: MergeHow,
    #[command(flatten)]
    pub attempts: AttemptFlags,
    #[command(flatten)]
    pub program: ProgramFlags,
}

#[derive(Debug, Args)]
pub struct CoopDemoFlags {
    /// Runs of each instance.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub runs: u64,
    /// Directory for profile, logs, store and trace.
    #[arg(long, value_name = "DIR", default_value = "unravel-out")]
    pub out: PathBuf,
    #[command(flatten)]
    pub share: ShareFlags,
    #[command(flatten)]
    pub how: MergeHow,
    #[command(flatten)]
    pub attempts: AttemptFlags,
    #[command(flatten)]
    pub program: ProgramFlags,
}
