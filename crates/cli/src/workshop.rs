//! Where repaired programs are made: woven, or compiled from a copy of the sources.

use std::path::{Path, PathBuf};
use std::time::Duration;

use unravel_causes::{Analysis, Budget, Task};
use unravel_code::weave;
use unravel_files::ProgramRef;
use unravel_program::Locals;
use unravel_program::build::{BuildError, BuildSpec, Builder, Built, Scratch};
use unravel_repair::Workshop;
use unravel_results::PatchedFile;
use unravel_trace::{Input, Rules, Site};

use crate::interrupt::INTERRUPTED;
use crate::program;

/// Makes variants of one program. A process has room for one machine at a time.
pub struct Variants<'a> {
    pub built: &'a Built,
    pub reference: &'a ProgramRef,
    pub rules: &'a Rules,
    /// Where the variables of its functions are.
    pub locals: Locals,
    /// How many sites the program has.
    pub sites: u32,
    /// How long to look for causes that measures left.
    pub remaining: Duration,
    /// Patched files go here.
    pub directory: Scratch,
}

impl Variants<'_> {
    /// The copy of a file.
    fn copy_of(&self, path: &str) -> PathBuf {
        let relative: PathBuf = Path::new(path)
            .components()
            .filter(|c| matches!(c, std::path::Component::Normal(_)))
            .collect();
        self.directory.path().join(relative)
    }
}

impl Workshop for Variants<'_> {
    type Machine = program::Machine;

    fn weave(&mut self, measures: &[weave::Measure]) -> Result<Self::Machine, String> {
        let program = program::lower_bitcode(&self.built.bitcode, self.locals)
            .map_err(|error| error.to_string())?;
        let woven = weave::weave(&program, measures).map_err(|error| error.to_string())?;
        program::machine_of(woven, self.built, &self.reference.name, self.rules)
            .map_err(|error| error.to_string())
    }

    fn sites(&self) -> u32 {
        self.sites
    }

    fn causes(
        &mut self,
        machine: &mut Self::Machine,
        input: &Input,
        at_most: Duration,
    ) -> Option<Analysis> {
        let time = self.remaining.min(at_most);
        let request = Task {
            program: self.reference,
            input,
            rules: self.rules,
            budget: Budget { time, inputs: 1, ..Budget::default() },
            command: String::new(),
        };
        unravel_causes::causes(machine, &request, &INTERRUPTED, &mut |_| {}).ok()
    }

    fn compile(&mut self, files: &[PatchedFile]) -> Result<Self::Machine, String> {
        let spec = self.patched(files)?;
        let built = Builder::from_env().open(&spec).map_err(|error| match error {
            BuildError::Compile { stderr, .. } | BuildError::Link { stderr, .. } => stderr,
            other => other.to_string(),
        })?;
        let program = program::lower_bitcode(&built.bitcode, self.locals)
            .map_err(|error| error.to_string())?;
        // A check of the unpatched source would be worth nothing.
        for file in files {
            let copy = self.copy_of(&file.path);
            let is_there = |site: &Site| Path::new(&*site.place.file) == copy;
            if !program.sites.iter().any(is_there) {
                return Err(format!("error: the compiler did not read the patched {}", file.path));
            }
        }
        program::machine_of(program, &built, &self.reference.name, self.rules)
            .map_err(|error| error.to_string())
    }
}

impl Variants<'_> {
    /// Writes the patched files, and all sources beside them: what a source includes from its own directory may be
    /// patched.
    fn patched(&self, files: &[PatchedFile]) -> Result<BuildSpec, String> {
        let spec = &self.built.spec;
        if spec.sources.is_empty() {
            return Err("error: the program was not built from sources that are known".to_owned());
        }
        let base = spec.directory.clone().unwrap_or_else(|| PathBuf::from(&self.reference.cwd));
        let mut flags = Vec::new();
        for file in files {
            let copy = self.copy_of(&file.path);
            put(&copy, &file.text)?;
            flags.extend(copy.parent().map(|parent| format!("-I{}", parent.display())));
        }
        let mut sources = Vec::new();
        for source in &spec.sources {
            let original = base.join(source);
            let patched = files.iter().find(|file| base.join(&file.path) == original);
            let copy = match patched {
                Some(file) => self.copy_of(&file.path),
                None => {
                    let copy = self.copy_of(&source.display().to_string());
                    let text = std::fs::read(&original).map_err(|error| error.to_string())?;
                    put(&copy, &text)?;
                    copy
                }
            };
            sources.push(copy);
            flags.extend(original.parent().map(|own| format!("-iquote{}", own.display())));
        }
        flags.extend(spec.flags.iter().cloned());
        Ok(BuildSpec { sources, flags, ..spec.clone() })
    }
}

fn put(path: &Path, text: impl AsRef<[u8]>) -> Result<(), String> {
    let directory = path.parent().map_or(Ok(()), std::fs::create_dir_all);
    directory.and_then(|()| std::fs::write(path, text)).map_err(|error| error.to_string())
}
