//! Room `cli`: flags, wiring, exit codes. A command a file; nothing is computed here.

#[macro_use]
mod say;

mod budgets;
mod build;
mod causes;
mod cc;
mod certify;
mod compiler_flags;
mod completions;
mod config;
mod coop;
mod db;
mod diagnose;
mod doctor;
mod error;
mod exit;
mod explain;
mod find;
mod flags;
mod hunt;
mod import;
mod interrupt;
mod log;
mod merge_findings;
mod output;
mod plan;
mod program;
mod progress;
mod rebuilt;
mod record;
mod recorded;
mod regression_test;
mod remedy;
mod repair;
mod replay;
mod retyped;
mod run;
mod show;
mod simplify;
mod step;
mod story;
mod style;
mod target;
mod timings;
mod workshop;

use std::io::IsTerminal;
use std::process::ExitCode;

use clap::Parser;
use unravel_program::build::BuildError;

use crate::error::CliError;
use crate::exit::Exit;
use crate::flags::{Cli, Command, TraceCommand};

fn main() -> ExitCode {
    let arguments: Vec<_> = std::env::args_os().collect();
    if let Some(name) = unravel_driver::Shims::called_as(&arguments) {
        return cc::keep(&name, arguments);
    }
    if let Some((compiler, arguments)) = cc::compiler(&arguments) {
        return cc::compile(compiler, arguments);
    }
    let mut cli = match Cli::try_parse_from(compiler_flags::accept(std::env::args_os())) {
        Ok(cli) => cli,
        Err(error) => {
            let text = error.render();
            let to_terminal = std::io::stdout().is_terminal();
            if error.use_stderr() {
                let _ = error.print();
                return Exit::Error.into();
            }
            match to_terminal {
                true => say!("{}", text.ansi()),
                false => say!("{text}"),
            }
            return end(Exit::Clean);
        }
    };
    style::want(cli.color);
    // A program that is recorded has its addresses as the system gives them.
    if !matches!(cli.command, Command::Record(_)) {
        fix_addresses();
    }
    interrupt::leave_no_folders();
    if let Err(error) = target::resolve(&mut cli.command) {
        report(error);
        return Exit::Error.into();
    }
    let result = match cli.command {
        Command::Explain(flags) => explain::explain(&flags),
        Command::Build(flags) => build::build(&flags),
        Command::Find(flags) => find::find(&flags),
        Command::MergeFindings(flags) => merge_findings::merge_findings(&flags),
        Command::Replay(flags) => replay::replay(&flags),
        Command::Run(flags) => run::run(&flags),
        Command::Trace(flags) => match flags.command {
            TraceCommand::Show(flags) => show::show(&flags),
        },
        Command::Diagnose(flags) => diagnose::diagnose(&flags),
        Command::Certify(flags) => certify::certify(&flags),
        Command::Simplify(flags) => simplify::run(&flags),
        Command::Causes(flags) => causes::causes(&flags),
        Command::Repair(flags) => repair::repair(&flags),
        Command::Db(flags) => db::db(&flags.command),
        Command::Hunt(flags) => hunt::hunt(&flags),
        Command::Import(flags) => import::import(&flags.command),
        Command::Record(flags) => record::record(&flags),
        Command::Log(flags) => log::log(&flags.command),
        Command::Coop(flags) => coop::coop(&flags.command),
        Command::Cc(flags) => return cc::compile(unravel_driver::Compiler::C, flags.arguments),
        Command::Doctor(flags) => doctor::doctor(&flags),
        Command::Completions(flags) => completions::completions(&flags),
    };
    match result {
        Ok(exit) => end(exit),
        Err(error) => {
            report(error);
            Exit::Error.into()
        }
    }
}

/// Whatever was found, a command whose words are lost has failed; and one that was interrupted says of nothing that it is
/// clean.
fn end(exit: Exit) -> ExitCode {
    match say::lost() {
        None if exit == Exit::Clean && interrupt::happened() => Exit::Inconclusive.into(),
        None => exit.into(),
        Some(error) => {
            warnln!("error: standard output cannot be written: {error}");
            Exit::Error.into()
        }
    }
}

/// Says what went wrong: as JSON if JSON was asked for, what the compiler said as it said it.
fn report(error: CliError) {
    if std::env::args_os().any(|a| a == "--json") {
        sayln!("{}", serde_json::json!({ "error": error.to_string() }));
    }
    match &error {
        CliError::Build(BuildError::Compile { stderr, .. } | BuildError::Link { stderr, .. }) => {
            warn!("{stderr}");
            warnln!("error: the program does not compile");
        }
        _ => {
            // Every message says its cause already.
            let handler = || miette::MietteHandlerOpts::new().without_cause_chain().build();
            let _ = miette::set_hook(Box::new(move |_| Box::new(handler())));
            warnln!("{:?}", miette::Report::new(error));
        }
    }
}

/// Starts this program anew without address randomisation, so that addresses of native libraries are the
/// same in every run too. Where the system forbids that, runs are still the same up to such addresses.
fn fix_addresses() {
    use std::os::unix::process::CommandExt;
    // SAFETY: asks for and sets flags of this process alone.
    unsafe {
        let flags = libc::personality(0xffff_ffff);
        if flags < 0 || flags & libc::ADDR_NO_RANDOMIZE != 0 {
            return;
        }
        if libc::personality((flags | libc::ADDR_NO_RANDOMIZE) as libc::c_ulong) < 0 {
            return;
        }
    }
    let Ok(program) = std::env::current_exe() else { return };
    // Returns only if it failed; then we go on as we are.
    let _ = std::process::Command::new(program).args(std::env::args_os().skip(1)).exec();
}
