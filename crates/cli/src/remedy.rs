//! From a program to its repairs: all causes, then patches against them. `repair` goes this way, and `explain` when it has
//! found something.

use std::path::{Path, PathBuf};
use std::time::Duration;

use unravel_causes::Budget;
use unravel_execute::Silence;
use unravel_program::build::Scratch;
use unravel_repair::{Effort, Task};
use unravel_results::Repairs;
use unravel_trace::Executor;

use crate::causes::{analyse, keep_traces, words};
use crate::error::CliError;
use crate::interrupt::INTERRUPTED;
use crate::output::put;
use crate::program::Loaded;
use crate::progress::Progress;
use crate::workshop::Variants;

/// How far to look.
pub struct Remedy {
    pub causes: Budget,
    /// How long candidates are tried. One that is being checked by then is not decided.
    pub candidates: Duration,
    /// How far each candidate is explored.
    pub effort: Effort,
    /// How long to look for causes that a candidate leaves.
    pub remaining: Duration,
    /// How many repairs to show.
    pub most: usize,
    /// The command that finds them again.
    pub command: String,
    /// Where a trace of each bug is written, if anywhere.
    pub traces: Option<PathBuf>,
}

impl Remedy {
    /// All causes of a program, and repairs. The machine is gone afterwards: a process has room for one, and each
    /// candidate needs its own.
    pub fn find(&self, loaded: Loaded, progress: &mut Progress) -> Result<Repairs, CliError> {
        let mut loaded = loaded;
        let mut show = |now| progress.show(&words(now));
        let mut analysis = analyse(&mut loaded, self.causes, self.command.clone(), &mut show)?;
        if let Some(directory) = &self.traces
            && let Err(error) = keep_traces(&mut analysis, &loaded, directory)
        {
            analysis.causes.notes.push(error.to_string());
        }
        let Loaded { built, vm, reference, input, rules } = loaded;
        let sites = vm.sites().len() as u32;
        drop(vm);
        let directory = Scratch::new()
            .map_err(|source| CliError::Write { path: std::env::temp_dir(), source })?;
        let mut variants = Variants {
            built: &built,
            reference: &reference,
            rules: &rules,
            locals: crate::program::locals(&input),
            sites,
            remaining: self.remaining,
            directory,
        };
        let request = Task {
            // Names of files are relative to where they were compiled.
            root: built.spec.directory.as_deref().unwrap_or(Path::new(&reference.cwd)),
            input: &input,
            effort: self.effort,
            time: self.candidates,
            most: self.most,
        };
        let mut show = |now: &unravel_repair::Progress| {
            progress.show(&format!("candidate {} of {}: {}", now.tried + 1, now.of, now.title));
        };
        // The program is executed in this process too, and what it says is not ours.
        let _silence = Silence::begin().map_err(CliError::Stdin)?;
        Ok(unravel_repair::repair(&mut variants, analysis, &request, &INTERRUPTED, &mut show))
    }
}

/// Whether all that the program was built from can be read as text: in bitcode nothing can be patched.
pub fn has_sources(loaded: &Loaded) -> bool {
    let spec = &loaded.built.spec;
    let base = spec.directory.as_deref().unwrap_or(Path::new(&loaded.reference.cwd));
    let is_text = |source: &PathBuf| std::fs::read_to_string(base.join(source)).is_ok();
    !spec.sources.is_empty() && spec.sources.iter().all(is_text)
}

/// Writes each diff to a file of its own; returns their names.
pub fn write_diffs(repairs: &Repairs, out: &Path) -> Result<Vec<String>, CliError> {
    let mut names = Vec::new();
    for (number, repair) in repairs.repairs.iter().enumerate() {
        let path = out.join(format!("{}-repair-{}.diff", repairs.causes.program, number + 1));
        put(&path, &repair.diff)?;
        names.push(path.display().to_string());
    }
    Ok(names)
}
