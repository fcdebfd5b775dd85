//! `unravel completions`: a script for the user's shell.

use clap::CommandFactory;

use crate::error::CliError;
use crate::exit::Exit;
use crate::flags::{Cli, CompletionsFlags};
use crate::say;

pub fn completions(flags: &CompletionsFlags) -> Result<Exit, CliError> {
    let mut script = Vec::new();
    clap_complete::generate(flags.shell, &mut Cli::command(), "unravel", &mut script);
    say::put(&script);
    Ok(Exit::Clean)
}
