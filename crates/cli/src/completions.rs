//! `unravel completions`: a script for the user's shell.

use clap::CommandFactory;

use crate::error::CliError;
use crate::exit::Exit;
use crate::flags::{Cli, CompletionsFlags};

pub fn completions(flags: &CompletionsFlags) -> Result<Exit, CliError> {
    clap_complete::generate(flags.shell, &mut Cli::command(), "unravel", &mut std::io::stdout());
    Ok(Exit::Clean)
}
