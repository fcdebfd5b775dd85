//! The program of a trace, as it was when the trace was recorded.

use std::path::{Path, PathBuf};

use unravel_program::build::{BuildSpec, Builder};
use unravel_trace::TraceFile;
use unravel_vm::Vm;

use crate::error::CliError;
use crate::program;

/// A machine that can replay a trace.
pub struct Opened {
    pub vm: Vm,
    /// Whether the program is not the one that was recorded.
    pub changed: bool,
}

/// Builds the program of a trace, or another one (`instead`), and goes to the directory it ran in.
pub fn open(file: &TraceFile, instead: &[PathBuf]) -> Result<Opened, CliError> {
    let spec =
        if instead.is_empty() { recorded_spec(file) } else { BuildSpec::new(instead.to_vec()) };
    let spec = spec.with_flags(file.program.flags.clone());
    let built = Builder::from_env().open(&spec)?;
    let changed = built.fingerprint() != file.program.fingerprint;
    if changed {
        eprintln!("note: {} has changed since the trace was recorded", file.program.name);
    }
    // The program finds its files where it found them then.
    if let Err(error) = std::env::set_current_dir(&file.program.cwd) {
        eprintln!("note: cannot go to {}, where the trace was recorded: {error}", file.program.cwd);
    }
    Ok(Opened { vm: program::machine(&built, &file.program.name)?, changed })
}

/// The program as it was named when the trace was recorded, from the directory it was named in.
fn recorded_spec(file: &TraceFile) -> BuildSpec {
    let directory = Path::new(&file.program.cwd);
    let here = std::env::current_dir().unwrap_or_default();
    let locate = |source: &String| -> PathBuf {
        // A trace and its program may have moved together.
        if here != directory && Path::new(source).is_relative() && !directory.join(source).exists()
        {
            PathBuf::from(source)
        } else {
            directory.join(source)
        }
    };
    let sources: Vec<PathBuf> = if here == directory {
        file.program.sources.iter().map(PathBuf::from).collect()
    } else {
        file.program.sources.iter().map(locate).collect()
    };
    BuildSpec::new(sources)
}
