//! Opens what `unravel build -- COMMAND` left: a native executable whose objects carry their unoptimised bitcode
//! ([`super::kept`]), linked here into one module.
//!
//! Shared libraries that the executable needs and that the same build made are linked in as well; where both define a
//! name, the executable's counts, as it does for the dynamic linker. All other libraries stay native and are named.
//! `dlopen`ed plugins are not looked for. What the executable has that is native (assembler, objects made elsewhere)
//! is a note: a call to it is inconclusive by name when it comes.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use unravel_recording::elf;

use super::compile;
use super::kept::{self, Kept};
use super::scratch::Scratch;
use super::sealed::{self, Kind};
use super::{BuildError, BuildSpec, Builder, Built, hash};

/// Raise the version with any change to what linking does.
const CACHED: Kind = Kind { magic: *b"\x89ULINKED", version: 1 };

/// What a cached link has besides the module.
#[derive(Serialize, Deserialize)]
struct Linked {
    warnings: String,
}

/// Libraries that the machine brings along or models.
const OWN: [&str; 8] = [
    "libc.so",
    "libm.so",
    "libpthread.so",
    "librt.so",
    "libdl.so",
    "libgcc_s.so",
    "ld-linux",
    "libatomic.so",
];

/// The modules of an executable and of the libraries of its build.
struct Parts {
    /// Of the executable.
    modules: Vec<Vec<u8>>,
    /// Of its libraries, if they were built the same way.
    of_libraries: Vec<Vec<u8>>,
    sources: Vec<PathBuf>,
    libs: Vec<String>,
    notes: Vec<String>,
}

/// How much of an executable is known.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Contents {
    /// The sources whose bitcode it has.
    pub sources: Vec<PathBuf>,
    /// What it has no bitcode of, and why.
    pub missing: Vec<String>,
}

/// What an executable or library was built from; `None` if it was not built by a wrapped build.
pub fn contents(path: &Path) -> Result<Option<Contents>, BuildError> {
    let section = elf::section(path, kept::SECTION).map_err(|e| BuildError::reading(path, e))?;
    let Some(section) = section.filter(|section| !section.is_empty()) else { return Ok(None) };
    let records = Kept::decode(&section)
        .ok_or_else(|| BuildError::DamagedBitcode { path: path.to_path_buf() })?;
    let mut contents = Contents { sources: Vec::new(), missing: Vec::new() };
    for record in records {
        match record {
            Kept::Module { source, .. } => contents.sources.push(source),
            Kept::Missing { what, why } => {
                contents.missing.push(format!("no bitcode of {}: {why}", what.display()));
            }
        }
    }
    Ok(Some(contents))
}

impl Builder {
    /// The program that an executable was linked from.
    pub(super) fn open_wrapped(&self, spec: &BuildSpec, path: &Path) -> Result<Built, BuildError> {
        let parts = Parts::of(path)?;
        if parts.modules.is_empty() {
            return Err(BuildError::NoBitcode { path: path.to_path_buf(), notes: parts.notes });
        }
        let key = {
            let all = parts.of_libraries.iter().chain(&parts.modules);
            let hashes: Vec<u128> = all.map(|module| hash::wide(module)).collect();
            hash::wide(format!("{} {hashes:?}", parts.modules.len()).as_bytes())
        };
        let entry = self.cache.as_ref().map(|cache| cache.join(format!("{key:032x}.linked.build")));
        let cached = entry.as_ref().and_then(|entry| sealed::read::<Linked>(entry, CACHED).ok());
        let (was_cached, (linked, bitcode)) = match cached {
            Some(cached) => (true, cached),
            None => (false, self.link_parts(&parts)?),
        };
        if let (false, Some(entry)) = (was_cached, &entry) {
            // A cache that cannot be written costs time, nothing else.
            let _ = entry.parent().map(fs::create_dir_all);
            let _ = sealed::write(entry, CACHED, &linked, &bitcode);
        }
        Ok(Built {
            bitcode,
            libs: parts.libs,
            spec: BuildSpec { sources: parts.sources, ..spec.clone() },
            notes: parts.notes,
            warnings: linked.warnings,
            cached: was_cached,
            foreign: false,
        })
    }

    fn link_parts(&self, parts: &Parts) -> Result<(Linked, Vec<u8>), BuildError> {
        self.link_modules(&parts.modules, &parts.of_libraries, &parts.sources)
            .map(|(bitcode, warnings)| (Linked { warnings }, bitcode))
    }

    /// Links modules into one. Names of `weaker` ones give way.
    pub(super) fn link_modules(
        &self,
        modules: &[Vec<u8>],
        weaker: &[Vec<u8>],
        sources: &[PathBuf],
    ) -> Result<(Vec<u8>, String), BuildError> {
        if let ([only], []) = (modules, weaker) {
            return Ok((only.clone(), String::new()));
        }
        let tools = self.tools()?;
        let scratch = Scratch::new().map_err(|source| BuildError::Io {
            action: "make a directory in",
            path: std::env::temp_dir(),
            source,
        })?;
        let put = |name: String, module: &Vec<u8>| {
            let path = scratch.path().join(name);
            match fs::write(&path, module) {
                Ok(()) => Ok(path),
                Err(source) => Err(BuildError::Io { action: "write", path, source }),
            }
        };
        let mut words: Vec<std::ffi::OsString> = Vec::new();
        for (nth, module) in weaker.iter().enumerate() {
            words.push(put(format!("library{nth}.bc"), module)?.into());
        }
        for (nth, module) in modules.iter().enumerate() {
            let file = put(format!("{nth}.bc"), module)?;
            if weaker.is_empty() {
                words.push(file.into());
            } else {
                words.push(format!("--override={}", file.display()).into());
            }
        }
        let linked = scratch.path().join("linked.bc");
        let warnings = compile::link(&tools, scratch.path(), &words, &linked, sources)?;
        let bitcode = fs::read(&linked).map_err(|e| BuildError::reading(&linked, e))?;
        Ok((bitcode, warnings))
    }
}

impl Parts {
    fn of(path: &Path) -> Result<Parts, BuildError> {
        let mut parts = Parts {
            modules: Vec::new(),
            of_libraries: Vec::new(),
            sources: Vec::new(),
            libs: Vec::new(),
            notes: Vec::new(),
        };
        parts.modules = parts.take(path)?;
        let mut seen = HashSet::new();
        let mut open = needed(path);
        while let Some(library) = open.pop() {
            if !seen.insert(library.name.clone()) {
                continue;
            }
            if OWN.iter().any(|own| library.name.starts_with(own)) {
                continue;
            }
            let modules = match &library.path {
                Some(path) => parts.take(path)?,
                None => Vec::new(),
            };
            match (modules.is_empty(), library.path) {
                (false, Some(path)) => open.extend(needed(&path)),
                (_, Some(path)) => parts.libs.push(path.display().to_string()),
                (_, None) if library.name.starts_with("libstdc++.so") => {
                    parts.libs.push("stdc++".to_owned());
                }
                (_, None) => parts.libs.push(library.name),
            }
            parts.of_libraries.extend(modules);
        }
        parts.libs.sort();
        super::dedup(&mut parts.notes);
        Ok(parts)
    }

    /// The modules in a file; what else is said of it is noted.
    fn take(&mut self, path: &Path) -> Result<Vec<Vec<u8>>, BuildError> {
        let section =
            elf::section(path, kept::SECTION).map_err(|e| BuildError::reading(path, e))?;
        let records = Kept::decode(&section.unwrap_or_default())
            .ok_or_else(|| BuildError::DamagedBitcode { path: path.to_path_buf() })?;
        let mut modules = Vec::new();
        for record in records {
            match record {
                Kept::Module { source, bitcode } => {
                    self.sources.push(source);
                    modules.push(bitcode);
                }
                Kept::Missing { what, why } => {
                    self.notes.push(format!("no bitcode of {}: {why}", what.display()));
                }
            }
        }
        Ok(modules)
    }
}

/// A shared library that a file asks for.
struct Needed {
    name: String,
    /// Where the file's own search path has it.
    path: Option<PathBuf>,
}

/// What the dynamic section asks for, in order.
fn needed(path: &Path) -> Vec<Needed> {
    const NEEDED: u64 = 1;
    const RPATH: u64 = 15;
    const RUNPATH: u64 = 29;
    let section = |name| elf::section(path, name).ok().flatten().unwrap_or_default();
    let (dynamic, strings) = (section(".dynamic"), section(".dynstr"));
    let text = |at: u64| {
        let rest = strings.get(usize::try_from(at).ok()?..)?;
        let end = rest.iter().position(|byte| *byte == 0)?;
        Some(String::from_utf8_lossy(&rest[..end]).into_owned())
    };
    let (mut names, mut folders) = (Vec::new(), Vec::new());
    let origin = path.parent().unwrap_or(Path::new("/"));
    for entry in dynamic.chunks_exact(16) {
        let word = |at: usize| u64::from_le_bytes(entry[at..at + 8].try_into().expect("8 bytes"));
        match word(0) {
            NEEDED => names.extend(text(word(8))),
            RPATH | RUNPATH => {
                let paths = text(word(8)).unwrap_or_default();
                let origin = origin.display().to_string();
                let whole = paths.replace("${ORIGIN}", &origin).replace("$ORIGIN", &origin);
                folders.extend(whole.split(':').map(PathBuf::from));
            }
            _ => {}
        }
    }
    // libtool's programs find their libraries by a variable that a script sets.
    folders.push(origin.to_path_buf());
    folders.push(origin.join("../.libs"));
    let find =
        |name: &str| folders.iter().map(|folder| folder.join(name)).find(|file| file.is_file());
    names.into_iter().map(|name| Needed { path: find(&name), name }).collect()
}
