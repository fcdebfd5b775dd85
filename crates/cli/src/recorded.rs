//! The program of a trace, as it was when the trace was recorded.

use std::path::{Path, PathBuf};

use unravel_execute::RaceChecked;
use unravel_files::TraceFile;
use unravel_program::build::{BuildSpec, Builder};
use unravel_trace::VisibleSet;
use unravel_vm::Vm;

use crate::error::CliError;
use crate::{program, run};

/// A machine that can replay a trace.
pub struct Opened {
    pub vm: RaceChecked<Vm>,
    /// What counts as an event. Of a program that has changed it is learned anew, because its sites are others.
    pub visible: VisibleSet,
    /// Whether the program is not the one that was recorded.
    pub changed: bool,
}

/// Builds the program of a trace, or another one (`instead`), in the directory it was built and ran in.
pub fn open(file: &TraceFile, instead: &[PathBuf]) -> Result<Opened, CliError> {
    let instead: Vec<PathBuf> =
        instead.iter().map(|p| std::path::absolute(p).unwrap_or_else(|_| p.clone())).collect();
    let recorded: Vec<PathBuf> = file.program.sources.iter().map(PathBuf::from).collect();
    let here = std::env::current_dir().unwrap_or_default();
    // The program finds its files where it found them then. A trace and its program may have moved together.
    let there = Path::new(&file.program.cwd);
    let moved = instead.is_empty()
        && here != there
        && recorded.iter().any(|source| source.is_relative() && !there.join(source).exists());
    if !moved && let Err(error) = std::env::set_current_dir(there) {
        eprintln!("note: cannot go to {}, where the trace was recorded: {error}", file.program.cwd);
    }
    let spec = BuildSpec::new(if instead.is_empty() { recorded } else { instead });
    let built = Builder::from_env().open(&spec.with_flags(file.program.flags.clone()))?;
    let changed = built.fingerprint() != file.program.fingerprint;
    if changed {
        eprintln!("note: {} has changed since the trace was recorded", file.program.name);
    }
    let mut vm = program::machine(&built, &file.program.name, &file.rules)?;
    let visible = match changed {
        true => run::learn(&mut vm, &file.input, &file.rules, file.seed.unwrap_or(1))?,
        false => file.run.schedule.visible.clone(),
    };
    Ok(Opened { vm, visible, changed })
}
