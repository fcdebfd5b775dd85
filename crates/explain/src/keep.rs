//! The trace files of an explanation: for each bug its failing run, and the nearest that passes.

use std::path::PathBuf;

use unravel_explore::Finding;
use unravel_files::TraceFile;
use unravel_results::Explored;
use unravel_trace::Run;

use crate::explain::{ExplainError, Task};

/// Writes traces where the user wants them.
pub struct Keeper<'a> {
    pub request: &'a Task<'a>,
    pub explored: &'a Explored,
}

/// The name of a trace file: `bank-assertion-1.trace`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Name {
    stem: String,
}

impl Name {
    /// The name of the passing run beside it.
    pub fn passing(&self) -> Name {
        Name { stem: format!("{}.passing", self.stem) }
    }
}

impl Keeper<'_> {
    /// Names for the traces of findings, as `find` gives them.
    pub fn names(&self, findings: &[Finding]) -> Vec<Name> {
        let name = |(number, finding): (usize, &Finding)| Name {
            stem: finding.name(&self.request.program.name, number + 1),
        };
        findings.iter().enumerate().map(name).collect()
    }

    /// Where a trace is, for commands.
    pub fn path(&self, name: &Name) -> String {
        self.file(name).display().to_string()
    }

    pub fn write(&self, name: &Name, run: &Run) -> Result<(), ExplainError> {
        let directory = &self.request.out;
        std::fs::create_dir_all(directory)
            .map_err(|source| ExplainError::Directory { path: directory.clone(), source })?;
        let file = TraceFile {
            program: self.request.program.clone(),
            input: run.input(self.request.input),
            rules: match run.outcome.failure() {
                Some(failure) => self.request.rules.with(failure.kind),
                None => self.request.rules.clone(),
            },
            strategy: self.explored.strategy.clone(),
            seed: Some(self.explored.seed),
            engine: self.request.engine.to_owned(),
            run: run.clone(),
        };
        Ok(file.write(self.file(name))?)
    }

    fn file(&self, name: &Name) -> PathBuf {
        self.request.out.join(format!("{}.trace", name.stem))
    }
}
