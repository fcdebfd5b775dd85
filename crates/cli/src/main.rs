//! Room `cli`: flags, wiring, exit codes. A command a file; nothing is computed here.

mod build;
mod config;
mod doctor;
mod error;
mod exit;
mod find;
mod flags;
mod program;
mod replay;
mod run;
mod show;
mod story;

use std::process::ExitCode;

use clap::Parser;

use crate::exit::Exit;
use crate::flags::{Cli, Command, TraceCommand};

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            let _ = error.print();
            return if error.use_stderr() { Exit::Error.into() } else { Exit::Clean.into() };
        }
    };
    let result = match cli.command {
        Command::Build(flags) => build::build(&flags),
        Command::Find(flags) => find::find(&flags),
        Command::Replay(flags) => replay::replay(&flags),
        Command::Run(flags) => run::run(&flags),
        Command::Trace(flags) => match flags.command {
            TraceCommand::Show(flags) => show::show(&flags),
        },
        Command::Doctor(flags) => doctor::doctor(&flags),
    };
    match result {
        Ok(exit) => exit.into(),
        Err(error) => {
            eprintln!("{:?}", miette::Report::new(error));
            Exit::Error.into()
        }
    }
}
