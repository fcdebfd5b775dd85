//! Where the project is, and how cargo is called.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};

use crate::error::Error;

/// The project's directory.
pub fn root() -> PathBuf {
    // Cargo says it anew on every run, so the project may have moved since this was compiled.
    let here = std::env::var_os("CARGO_MANIFEST_DIR")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
    here.parent().map(Path::to_owned).unwrap_or(here)
}

/// The cargo that runs us, in the project's directory.
pub fn cargo(arguments: &[&str]) -> Command {
    let program = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(program);
    command.args(arguments).current_dir(root());
    command
}

/// Says which step comes next.
pub fn announce(step: &str) {
    eprintln!("==> {step}");
}

pub fn status(command: &mut Command) -> Result<ExitStatus, Error> {
    command.status().map_err(|source| Error::Start { program: name(command), source })
}

/// Runs to the end and demands success.
pub fn demand(command: &mut Command) -> Result<(), Error> {
    let status = status(command)?;
    if status.success() { Ok(()) } else { Err(Error::Failed { command: line(command), status }) }
}

pub fn name(command: &Command) -> String {
    command.get_program().to_string_lossy().into_owned()
}

/// A command as a person would type it, for messages.
pub fn line(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(|w| w.to_string_lossy()).collect::<Vec<_>>().join(" ")
}

/// How the tool and the tests are compiled.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Profile {
    /// As users have it.
    Release,
    /// The same with debug assertions and checks for overflow, which abort.
    Checked,
}

impl Profile {
    /// As in `Cargo.toml`.
    pub fn name(self) -> &'static str {
        match self {
            Profile::Release => "release",
            Profile::Checked => "checked",
        }
    }
}

/// Builds the command line tool, and says where it is.
pub fn build_tool(profile: Profile) -> Result<PathBuf, Error> {
    let mut command =
        cargo(&["build", "--profile", profile.name(), "--locked", "--package", "unravel"]);
    command.arg("--message-format=json-render-diagnostics").stderr(Stdio::inherit());
    let output =
        command.output().map_err(|source| Error::Start { program: name(&command), source })?;
    if !output.status.success() {
        return Err(Error::Failed { command: line(&command), status: output.status });
    }
    // Cargo alone knows the target directory (an environment variable or any configuration may set it).
    String::from_utf8_lossy(&output.stdout)
        .lines()
        .filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok())
        .filter(|message| message["target"]["name"] == "unravel")
        .find_map(|message| Some(PathBuf::from(message["executable"].as_str()?)))
        .ok_or_else(|| Error::NotBuilt("unravel".into()))
}
