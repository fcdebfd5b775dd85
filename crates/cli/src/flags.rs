//! The command line, as typed. [`crate::program`] and the commands turn it into what they need.

mod causes;
mod coop;
mod database;
mod hunt;
mod program;
mod record;
mod search;
mod trace;

use clap::{Args, Parser, Subcommand, ValueEnum};

pub use causes::{CausesFlags, ExtentFlags, RepairFlags};
pub use coop::{
    AttemptFlags, CoopAnalyseFlags, CoopBuildFlags, CoopCommand, CoopDemoFlags, CoopFlags,
    CoopIngestFlags, CoopProfileFlags, CoopRecordFlags, CoopReplayFlags, Engine, MergeHow,
    ShareFlags,
};
pub use database::{DbCommand, DbFlags, DbMergeFlags, DbRecordFlags, DbStatsFlags};
pub use hunt::HuntFlags;
pub use program::{
    BuildFlags, CompileFlags, EngineName, InputFlags, ProgramFlags, RuleFlags, TargetFlags,
};
pub use record::{CcFlags, LogCommand, LogFlags, LogShowFlags, LogStatsFlags, RecordFlags};
pub use search::{ExplainFlags, FindFlags, MergeFlags, RunFlags, SearchFlags, parse_time};
pub use trace::{
    CertifyFlags, DiagnoseFlags, ImportCommand, ImportFlags, ReplayFlags, ShowFlags, SimplifyFlags,
    SymbiosisFlags, TraceCommand, TraceFlags,
};

/// Gets to the bottom of concurrency bugs in C and C++ programs.
#[derive(Debug, Parser)]
#[command(name = "unravel", version, max_term_width = 100)]
#[command(after_help = include_str!("help/unravel.txt"))]
pub struct Cli {
    #[command(subcommand)]
    pub command: Command,
    /// Colours in what is printed: on a terminal (NO_COLOR and CLICOLOR_FORCE count), always, or never.
    #[arg(long, value_enum, value_name = "WHEN", default_value_t, global = true)]
    pub color: Color,
}

/// When what is printed has colours.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum Color {
    #[default]
    Auto,
    Always,
    Never,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Find the bugs of a program and explain them.
    #[command(after_long_help = include_str!("help/explain.txt"))]
    Explain(ExplainFlags),
    /// Search for a schedule that fails.
    #[command(after_long_help = include_str!("help/find.txt"))]
    Find(FindFlags),
    /// Run a recorded schedule again, exactly, or step through it.
    #[command(after_long_help = include_str!("help/replay.txt"))]
    Replay(ReplayFlags),
    /// Make a failing run as simple as possible: the same failure with the fewest context switches.
    #[command(after_long_help = include_str!("help/simplify.txt"))]
    Simplify(SimplifyFlags),
    /// Say why a recorded run failed, and show the nearest schedule that passes.
    #[command(after_long_help = include_str!("help/diagnose.txt"))]
    Diagnose(DiagnoseFlags),
    /// Check certificates that `diagnose --certify=DIR` wrote, without the solver.
    #[command(after_long_help = include_str!("help/certify.txt"))]
    Certify(CertifyFlags),
    /// Find every cause of a program's failures, not only the first.
    #[command(after_long_help = include_str!("help/causes.txt"))]
    Causes(CausesFlags),
    /// Propose patches against every cause, each of them checked.
    #[command(after_long_help = include_str!("help/repair.txt"))]
    Repair(RepairFlags),
    /// Expose failures that never happened yet, from runs that passed.
    #[command(after_long_help = include_str!("help/hunt.txt"))]
    Hunt(HuntFlags),
    /// Run the program once, under one schedule.
    #[command(after_long_help = include_str!("help/run.txt"))]
    Run(RunFlags),
    /// Put together what several machines found.
    #[command(after_long_help = include_str!("help/merge-findings.txt"))]
    MergeFindings(MergeFlags),
    /// Look into a trace.
    Trace(TraceFlags),
    /// Look into, merge and compact databases of thread traces.
    #[command(after_long_help = include_str!("help/db.txt"))]
    Db(DbFlags),
    /// Compile a program once, for later commands.
    #[command(after_long_help = include_str!("help/build.txt"))]
    Build(BuildFlags),
    /// Run a program that was built by unravel-cc, and write down the paths of its threads.
    #[command(after_long_help = include_str!("help/record.txt"))]
    Record(RecordFlags),
    /// Look into the log of a recorded run.
    #[command(after_long_help = include_str!("help/log.txt"))]
    Log(LogFlags),
    /// Compile and link as cc would, with recording code in every object.
    #[command(after_long_help = include_str!("help/cc.txt"))]
    Cc(CcFlags),
    /// Put partial logs of many instances together until one failing run replays.
    #[command(after_long_help = include_str!("help/coop.txt"))]
    Coop(CoopFlags),
    /// Make a trace of what another tool recorded.
    Import(ImportFlags),
    /// Say what is installed and what is missing.
    #[command(after_long_help = include_str!("help/doctor.txt"))]
    Doctor(DoctorFlags),
    /// Print a script that completes commands and flags in a shell.
    #[command(after_long_help = include_str!("help/completions.txt"))]
    Completions(CompletionsFlags),
}

#[derive(Debug, Args)]
pub struct DoctorFlags {
    /// List instead how much each part does at most, and why.
    #[arg(long)]
    pub budgets: bool,
    /// Print JSON instead of text.
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct CompletionsFlags {
    #[arg(value_name = "SHELL")]
    pub shell: clap_complete::Shell,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        use clap::CommandFactory;
        Cli::command().debug_assert();
    }
}
