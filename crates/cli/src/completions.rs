//! `unravel completions`: a script for the user's shell.

use std::io::Write;

use clap::CommandFactory;

use crate::error::CliError;
use crate::exit::Exit;
use crate::flags::{Cli, CompletionsFlags};

pub fn completions(flags: &CompletionsFlags) -> Result<Exit, CliError> {
    let mut script = Vec::new();
    clap_complete::generate(flags.shell, &mut Cli::command(), "unravel", &mut script);
    // A reader that stops early (head, less) is no error.
    let _ = std::io::stdout().write_all(&script);
    Ok(Exit::Clean)
}
