//! A program of a project that was built without us: `--build DIR --target NAME`.
//!
//! Ninja and make are asked for the commands that make the target (`ninja -t commands`, `make -Bnwk`), which run
//! nothing; those of compilers, of `ar` and of libtool say what it is linked from. Its sources are then compiled once more,
//! unoptimised, each with its own flags, and linked into `DIR/.unravel/NAME.unravel`. Sources that the build generates have to
//! be there: the project is to be built first.
//!
//! Not understood: commands that hide a compiler in a script, and shell beyond `cd`, `&&` and `;`.

mod commands;
mod graph;

use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use unravel_program::build::{BuildError, Builder, Module, Piece, Pieces, Single};

use graph::{Graph, Part, Source};

/// Why a target cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum ProjectError {
    #[error(
        "{} has neither build.ninja nor a Makefile, nor an executable of `unravel build`; build the project with `unravel build -- COMMAND`",
        folder.display()
    )]
    NoBuildFiles { folder: PathBuf },
    #[error("{tool} cannot be started: {source}; it is needed to ask what {target} is made of")]
    Tool { tool: &'static str, target: String, source: std::io::Error },
    #[error("{tool} does not know {target}:\n{said}")]
    Unknown { tool: &'static str, target: String, said: String },
    #[error("no command of {tool} links {target}; programs that are linked: {}", list(programs))]
    NotLinked { tool: &'static str, target: String, programs: Vec<String> },
    #[error("{} is not there yet: build the project first", path.display())]
    NotGenerated { path: PathBuf },
    #[error("clang cannot compile {}, which {target} is linked from:\n{said}", path.display())]
    Refused { path: PathBuf, target: String, said: String },
    #[error(transparent)]
    Build(#[from] BuildError),
    #[error("cannot write {}: {source}", path.display())]
    Write { path: PathBuf, source: std::io::Error },
}

fn list(names: &[String]) -> String {
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}

/// Makes the program, and says where it is.
pub fn program(folder: &Path, target: &str) -> Result<PathBuf, ProjectError> {
    let folder = std::path::absolute(folder).unwrap_or_else(|_| folder.to_path_buf());
    let listed = commands::of(&folder, target)?;
    let graph = Graph::of(&listed.commands);
    let Some(link) = graph.program(target) else {
        let programs = graph.programs();
        return Err(ProjectError::NotLinked {
            tool: listed.tool,
            target: target.to_owned(),
            programs,
        });
    };
    let linked = graph.linked(link);
    let sources: Vec<&Source> = linked.sources();
    let modules = compile(&sources, target)?;
    let piece = |source: &Source| {
        let at = sources.iter().position(|other| *other == source).expect("all were compiled");
        Piece { source: source.path(), bitcode: modules[at].clone() }
    };
    let mut pieces = Pieces {
        libraries: linked.libraries.clone(),
        cxx: link.as_cxx || sources.iter().any(|source| source.is_cxx()),
        notes: linked.native.iter().map(|path| note(path)).collect(),
        ..Pieces::default()
    };
    for part in &linked.parts {
        match part {
            Part::Object(source) => pieces.objects.push(piece(source)),
            Part::Bitcode(path) => {
                let bitcode = std::fs::read(path)
                    .map_err(|source| ProjectError::Write { path: path.clone(), source })?;
                pieces.objects.push(Piece { source: path.clone(), bitcode });
            }
            Part::Archive(members) => {
                pieces.archives.push(members.iter().map(|source| piece(source)).collect());
            }
        }
    }
    let built = Builder::from_env().assemble(pieces, &link.directory)?;
    let to = folder.join(".unravel");
    std::fs::create_dir_all(&to)
        .map_err(|source| ProjectError::Write { path: to.clone(), source })?;
    let name = Path::new(target).file_name().unwrap_or(target.as_ref()).to_string_lossy();
    let file = to.join(format!("{name}.unravel"));
    built.write(&file)?;
    Ok(file)
}

fn note(path: &Path) -> String {
    format!("no bitcode of {}: no command of the project makes it", path.display())
}

/// Compiles all, as many at a time as there are processors.
fn compile(sources: &[&Source], target: &str) -> Result<Vec<Vec<u8>>, ProjectError> {
    let builder = Builder::from_env();
    let next = AtomicUsize::new(0);
    let results = Mutex::new(Vec::new());
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..processors.min(sources.len()) {
            scope.spawn(|| {
                loop {
                    let nth = next.fetch_add(1, Ordering::Relaxed);
                    let Some(source) = sources.get(nth) else { return };
                    let result = compile_one(&builder, source, target);
                    results.lock().expect("no compile thread panics").push((nth, result));
                }
            });
        }
    });
    let mut results = results.into_inner().expect("no compile thread panics");
    results.sort_by_key(|(nth, _)| *nth);
    results.into_iter().map(|(_, result)| result).collect()
}

fn compile_one(builder: &Builder, source: &Source, target: &str) -> Result<Vec<u8>, ProjectError> {
    let path = source.path();
    if !path.is_file() {
        return Err(ProjectError::NotGenerated { path });
    }
    let single = Single {
        source: &source.file,
        directory: &source.directory,
        words: &source.words,
        language: source.language.as_deref(),
        as_cxx: source.as_cxx,
    };
    match builder.module(single)? {
        Module::Made(bitcode) => Ok(bitcode),
        Module::Refused(said) => {
            Err(ProjectError::Refused { path, target: target.to_owned(), said })
        }
    }
}
