//! Where repaired programs are made: woven, or compiled from a copy of the sources.

use std::path::{Path, PathBuf};
use std::time::Duration;

use unravel_causes::{Analysis, Budget, Request};
use unravel_explore::RaceChecked;
use unravel_program::build::{BuildError, BuildSpec, Builder, Built};
use unravel_program::weave;
use unravel_repair::Workshop;
use unravel_trace::{Input, PatchedFile, ProgramRef, Rules};
use unravel_vm::Vm;

use crate::interrupt::INTERRUPTED;
use crate::program;

/// Makes variants of one program. A process has room for one machine at a time.
pub struct Variants<'a> {
    pub built: &'a Built,
    pub reference: &'a ProgramRef,
    pub rules: &'a Rules,
    pub input: &'a Input,
    /// How many sites the program has.
    pub sites: u32,
    /// How long to look for causes that measures left.
    pub remaining: Duration,
    /// Patched files go here.
    pub directory: tempfile::TempDir,
}

impl Variants<'_> {
    /// The copy of a file.
    fn copy_of(&self, path: &str) -> PathBuf {
        let relative: PathBuf =
            Path::new(path).components().filter(|c| matches!(c, std::path::Component::Normal(_))).collect();
        self.directory.path().join(relative)
    }
}

impl Workshop for Variants<'_> {
    type Machine = RaceChecked<Vm>;

    fn weave(&mut self, measures: &[weave::Measure]) -> Result<Self::Machine, String> {
        let program = unravel_program::load(&self.built.bitcode).map_err(|error| error.to_string())?;
        let woven = weave::weave(&program, measures).map_err(|error| error.to_string())?;
        program::machine_of(woven, self.built, &self.reference.name, self.rules)
            .map_err(|error| error.to_string())
    }

    fn sites(&self) -> u32 {
        self.sites
    }

    fn causes(&mut self, machine: &mut Self::Machine) -> Option<Analysis> {
        let request = Request {
            program: &self.reference.name,
            input: self.input,
            rules: self.rules,
            budget: Budget { time: self.remaining, inputs: 1, ..Budget::default() },
            command: String::new(),
        };
        unravel_causes::causes(machine, &request, &INTERRUPTED, &mut |_| {}).ok()
    }

    fn compile(&mut self, files: &[PatchedFile]) -> Result<Self::Machine, String> {
        let mut flags = self.reference.flags.clone();
        for file in files {
            let copy = self.copy_of(&file.path);
            if let Some(parent) = copy.parent() {
                std::fs::create_dir_all(parent).map_err(|error| error.to_string())?;
                flags.push(format!("-iquote{}", parent.display()));
            }
            std::fs::write(&copy, &file.text).map_err(|error| error.to_string())?;
        }
        // All sources are copied: what one of them includes by its own directory may be patched.
        let mut sources = Vec::new();
        for source in &self.reference.sources {
            let copy = self.copy_of(source);
            if !files.iter().any(|file| file.path == *source) {
                if let Some(parent) = copy.parent() {
                    std::fs::create_dir_all(parent).map_err(|error| error.to_string())?;
                }
                std::fs::copy(source, &copy).map_err(|error| error.to_string())?;
            }
            sources.push(copy);
            let own = Path::new(source).parent().filter(|p| !p.as_os_str().is_empty());
            flags.push(format!("-iquote{}", own.unwrap_or(Path::new(".")).display()));
        }
        let spec = BuildSpec::new(sources).with_flags(flags);
        let built = Builder::from_env().open(&spec).map_err(|error| match error {
            BuildError::Compile { stderr, .. } | BuildError::Link { stderr, .. } => stderr,
            other => other.to_string(),
        })?;
        program::machine(&built, &self.reference.name, self.rules).map_err(|error| error.to_string())
    }
}
