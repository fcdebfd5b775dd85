//! The compile driver: C and C++ sources → one linked bitcode.
//!
//! [`Builder::open`] takes whatever a user calls a program (sources, a bitcode file, a container
//! that `unravel build` made, an executable of a project's own build that it wrapped) and tells them apart by content. Sources are compiled by clang 19,
//! each by a process of its own and several at a time, and linked by `llvm-link` if there is more
//! than one. A build that was made before is taken from the cache (`cache.rs`).
//!
//! What this module does not do: it does not read bitcode (whether it can be lowered shows later),
//! it does not load libraries (it only names them), and it does not notice undefined symbols, which
//! the executor resolves against the libraries when they are called.
//!
//! User flags that would change what we observe (optimisation, sanitizers, profiling, another
//! target) are dropped with a note in [`Built::notes`]; `flags.rs` says which.

mod assemble;
mod cache;
mod compile;
mod container;
mod database;
mod error;
mod flags;
mod hash;
pub mod kept;
mod lowered;
mod markers;
mod scratch;
mod sealed;
mod single;
mod tools;
mod wrapped;

use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use cache::Cache;
use compile::Unit;
use database::CompilationDatabases;
use flags::Language;

pub use assemble::{Piece, Pieces};
pub use error::BuildError;
pub use scratch::{Scratch, clear_scratch};
pub use sealed::SealError;
pub use single::{Module, Single};
pub use tools::{INSTALL, Tools};
pub use wrapped::{Contents, contents};

/// How the flag begins that says where the compilation database is.
pub const DATABASE_FLAG: &str = "--compile-commands=";

/// What to build.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct BuildSpec {
    /// Source files as the user wrote them, relative to `directory`. Debug information keeps this
    /// spelling, so reports show it again.
    pub sources: Vec<PathBuf>,
    /// Flags for the compiler, for all sources: `-I`, `-D`, `-l`, `-std=` and so on.
    pub flags: Vec<String>,
    /// `None` compiles without optimisation, so that every access of the source is an event.
    pub optimise: Option<Optimise>,
    /// Where the compiler runs; the current directory if `None`.
    pub directory: Option<PathBuf>,
    /// Whether flags are taken from a `compile_commands.json`.
    pub database: CompilationDatabase,
}

/// Optimise the bitcode before it is executed. Faster, but accesses that the compiler removes or
/// merges are no longer events, and bugs that need them are not found.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Optimise {
    /// `-O1`.
    Light,
    /// `-O2`.
    Full,
}

/// Where the compilation database is.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub enum CompilationDatabase {
    /// The nearest `compile_commands.json` in the directory of a source or one above it, or in a `build*` folder of
    /// those, if there is one and it knows the source.
    #[default]
    Search,
    /// This file, or the one in this directory.
    At(PathBuf),
    Ignore,
}

impl BuildSpec {
    pub fn new(sources: impl IntoIterator<Item = impl Into<PathBuf>>) -> Self {
        BuildSpec { sources: sources.into_iter().map(Into::into).collect(), ..Self::default() }
    }

    /// One flag is no compiler's: `--compile-commands=DIR` says where the compilation database is.
    pub fn with_flags(mut self, flags: impl IntoIterator<Item = impl Into<String>>) -> Self {
        for flag in flags.into_iter().map(Into::into) {
            match flag.strip_prefix(DATABASE_FLAG) {
                Some(place) => self.database = CompilationDatabase::At(place.into()),
                None => self.flags.push(flag),
            }
        }
        self
    }

    /// The directory that relative paths start from.
    fn base(&self) -> Result<PathBuf, BuildError> {
        let current = std::env::current_dir().map_err(|source| BuildError::Io {
            action: "find",
            path: PathBuf::from("."),
            source,
        })?;
        Ok(match &self.directory {
            Some(directory) => current.join(directory),
            None => current,
        })
    }
}

/// A program, built.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Built {
    /// One LLVM module.
    pub bitcode: Vec<u8>,
    /// Libraries the program needs: an absolute path for one that was found in a directory given by
    /// `-L`, otherwise the name as it stands after `-l`. C++ sources add `stdc++`, as their driver
    /// would.
    pub libs: Vec<String>,
    /// What it was built from. For a container, what that was built from.
    pub spec: BuildSpec,
    /// What the user should know: flags that were dropped or taken from elsewhere.
    pub notes: Vec<String>,
    /// What the compiler and linker printed although they succeeded.
    pub warnings: String,
    /// Nothing had to be compiled.
    pub cached: bool,
    /// Some of the bitcode is not our compiler's: nobody knows what reading it does.
    pub foreign: bool,
}

impl Built {
    /// Identifies the bitcode. The same bytes give the same number on every machine and version.
    pub fn fingerprint(&self) -> u64 {
        hash::bytes(&self.bitcode)
    }

    /// Writes the container that [`open`] reads.
    pub fn write(&self, path: impl AsRef<Path>) -> Result<(), BuildError> {
        container::write(self, path.as_ref())
    }
}

/// Builds with the tools and the cache that the environment names.
pub fn build(spec: &BuildSpec) -> Result<Built, BuildError> {
    Builder::from_env().build(spec)
}

/// Opens a source file, a bitcode file or a container.
pub fn open(path: impl AsRef<Path>) -> Result<Built, BuildError> {
    Builder::from_env().open(&BuildSpec::new([path.as_ref()]))
}

/// Where the tools and the cache are. [`Builder::from_env`] reads the environment, and nothing else
/// here does, save for what clang reads itself.
#[derive(Clone, Debug, Default)]
pub struct Builder {
    /// The compiler the user asks for (`UNRAVEL_CLANG`).
    pub clang: Option<PathBuf>,
    /// Directories with programs (`PATH`).
    pub path: Vec<PathBuf>,
    /// Where builds are kept; `None` keeps none (`UNRAVEL_CACHE=off`).
    pub cache: Option<PathBuf>,
}

impl Builder {
    pub fn from_env() -> Self {
        let variable = |name| std::env::var_os(name).filter(|value| !value.is_empty());
        let absolute = |value| Some(PathBuf::from(value)).filter(|path| path.is_absolute());
        let caches = variable("XDG_CACHE_HOME")
            .and_then(absolute)
            .or_else(|| variable("HOME").and_then(absolute).map(|home| home.join(".cache")));
        let off = variable("UNRAVEL_CACHE").is_some_and(|value| value == "off" || value == "0");
        Builder {
            clang: variable("UNRAVEL_CLANG").map(PathBuf::from),
            path: variable("PATH").map(|v| std::env::split_paths(&v).collect()).unwrap_or_default(),
            cache: caches.filter(|_| !off).map(|caches| caches.join("unravel")),
        }
    }

    /// Which compiler and linker would be used.
    pub fn tools(&self) -> Result<Tools, BuildError> {
        Tools::find(self.clang.as_deref(), &self.path)
    }

    /// What the spec's one file is, by content: a container and a bitcode file are read, anything
    /// else is taken for a source. Several files are always sources.
    pub fn open(&self, spec: &BuildSpec) -> Result<Built, BuildError> {
        let [only] = spec.sources.as_slice() else { return self.build(spec) };
        let base = spec.base()?;
        let path = base.join(only);
        match Content::of(&path)? {
            Content::Container => {
                let mut built = container::read(&path)?;
                let sorted = flags::sort(&spec.flags, &base)?;
                built.libs.extend(sorted.libs);
                built.notes.extend(sorted.notes);
                dedup(&mut built.libs);
                dedup(&mut built.notes);
                Ok(built)
            }
            Content::Bitcode => {
                let sorted = flags::sort(&spec.flags, &base)?;
                Ok(Built {
                    bitcode: fs::read(&path).map_err(|e| BuildError::reading(&path, e))?,
                    libs: sorted.libs,
                    spec: spec.clone(),
                    notes: sorted.notes,
                    warnings: String::new(),
                    cached: true,
                    foreign: true,
                })
            }
            Content::Executable => {
                let sorted = flags::sort(&spec.flags, &base)?;
                let mut built = self.open_wrapped(spec, &path)?;
                built.libs.extend(sorted.libs);
                dedup(&mut built.libs);
                Ok(built)
            }
            Content::Other => self.build(spec),
        }
    }

    /// Compiles and links the sources, unless the cache has the result.
    pub fn build(&self, spec: &BuildSpec) -> Result<Built, BuildError> {
        let plan = Plan::new(spec)?;
        let tools = self.tools()?;
        let built = |made: compile::Made, cached| Built {
            bitcode: made.bitcode,
            libs: plan.libs.clone(),
            spec: spec.clone(),
            notes: plan.notes.clone(),
            warnings: made.warnings,
            cached,
            foreign: !plan.units.iter().all(|unit| unit.language.is_source()),
        };
        let cache = self.cache.as_deref().map(|directory| Cache::new(directory, &plan, &tools));
        if let Some(made) = cache.as_ref().and_then(Cache::find) {
            return Ok(built(made, true));
        }
        let made = compile::make(&plan, &tools)?;
        if let Some(cache) = &cache {
            cache.keep(&made);
        }
        Ok(built(made, false))
    }
}

/// Everything that is decided before a tool runs.
struct Plan {
    /// Absolute; the tools run here.
    directory: PathBuf,
    units: Vec<Unit>,
    optimise: Option<Optimise>,
    libs: Vec<String>,
    notes: Vec<String>,
}

impl Plan {
    fn new(spec: &BuildSpec) -> Result<Plan, BuildError> {
        if spec.sources.is_empty() {
            return Err(BuildError::NoSources);
        }
        let directory = spec.base()?;
        if !directory.is_dir() {
            return Err(BuildError::NotFound { path: directory });
        }
        let user = flags::sort(&spec.flags, &directory)?;
        let (mut libs, mut notes) = (user.libs, user.notes);
        let mut databases = CompilationDatabases::new(&spec.database, &directory);
        let mut units = Vec::with_capacity(spec.sources.len());
        for source in &spec.sources {
            let path = directory.join(source);
            // Says "not found" of every missing file before any work is done.
            let content = Content::of(&path)?;
            let language = match (content, &user.language) {
                (Content::Bitcode, _) => Language::Bitcode,
                (Content::Container, _) => {
                    return Err(BuildError::UnknownType {
                        path,
                        hint: "a built program cannot be combined with other files",
                    });
                }
                (Content::Executable, _) => {
                    return Err(BuildError::UnknownType {
                        path,
                        hint: "an executable cannot be combined with other files",
                    });
                }
                (Content::Other, Some(language)) => *language,
                (Content::Other, None) => Language::of(&path)?,
            };
            let mut all = Vec::new();
            let found = match language.is_source() {
                true => databases.flags_for(&path)?,
                false => None,
            };
            if let Some(found) = found {
                let sorted = flags::sort(&found.flags, &directory)?;
                notes.push(format!("flags from {}", found.database.display()));
                notes.extend(sorted.notes);
                all.extend(sorted.compile);
            }
            // After those of the database, so that the user can override them.
            all.extend(user.compile.iter().cloned());
            all.retain(|flag| language.takes(flag));
            units.push(Unit { source: source.clone(), language, flags: all });
        }
        notes.append(&mut databases.notes);
        if units.iter().any(|unit| unit.language.is_cxx()) {
            let libcxx = spec.flags.iter().any(|flag| flag == "-stdlib=libc++");
            libs.push(if libcxx { "c++" } else { "stdc++" }.to_owned());
        }
        dedup(&mut libs);
        dedup(&mut notes);
        Ok(Plan { directory, units, optimise: spec.optimise, libs, notes })
    }
}

/// What a file is, as its first bytes say.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Content {
    Container,
    Bitcode,
    /// Native, with the bitcode of its sources.
    Executable,
    /// Source code, or something we cannot use.
    Other,
}

impl Content {
    fn of(path: &Path) -> Result<Content, BuildError> {
        let metadata = fs::metadata(path).map_err(|e| BuildError::reading(path, e))?;
        let unknown = |hint| BuildError::UnknownType { path: path.to_path_buf(), hint };
        if metadata.is_dir() {
            return Err(unknown("it is a directory; give source files"));
        }
        let mut start = Vec::with_capacity(8);
        // A pipe could only be read once, and the compiler is the one to do it.
        if metadata.is_file() {
            File::open(path)
                .and_then(|file| file.take(8).read_to_end(&mut start))
                .map_err(|e| BuildError::reading(path, e))?;
        }
        match start.as_slice() {
            magic if *magic == container::MAGIC => Ok(Content::Container),
            magic if *magic == unravel_files::file::MAGIC => {
                Err(unknown("it is a trace; use `unravel replay` to run it again"))
            }
            [b'B', b'C', 0xc0, 0xde, ..] | [0xde, 0xc0, 0x17, 0x0b, ..] => Ok(Content::Bitcode),
            [0x7f, b'E', b'L', b'F', ..] if wrapped::contents(path)?.is_some() => {
                Ok(Content::Executable)
            }
            [0x7f, b'E', b'L', b'F', ..] | [b'!', b'<', b'a', b'r', b'c', b'h', ..] => {
                Err(unknown(
                    "it is native code; give its source files, or build it with `unravel build -- COMMAND`",
                ))
            }
            _ => Ok(Content::Other),
        }
    }
}

/// Drops repetitions and keeps the order.
fn dedup(list: &mut Vec<String>) {
    let mut seen = std::collections::HashSet::new();
    list.retain(|item| seen.insert(item.clone()));
}
