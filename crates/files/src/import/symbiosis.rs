//! The text traces of Symbiosis (Machado, Lucia, Rodrigues: *Concurrency Debugging with Differential Schedule
//! Projections*), as its authors published them: a folder with a file a thread, `T0`, `T1`, …
//!
//! [`lines`] reads a file, [`infix`] and [`kquery`] its expressions, [`threads`] tells who is whose child,
//! [`items`] makes the events of each thread, [`order`] puts them into one list, [`assemble`] makes the trace of it.
//!
//! Such a trace says what each thread did, not when: [`unravel_trace::KnownOrder::Unknown`]. The list of events is merely one
//! that could be; values of reads, who was woken by a signal and by whom a wait was ended are made up or left open,
//! and nobody may rely on them.
//!
//! *Where the format leaves something open*: a path condition has no position, so it is taken to be decided after
//! the last read of its thread that it names, and after the conditions before it. A timed wait is taken to have timed
//! out, which asks least of the others. A wait on an object that is also held as a lock releases that lock (a
//! monitor of Java), any other the lock that was taken last. A write may use what its thread read before, or a
//! thread that forked it before forking; path conditions may name any read.
//!
//! *Not modelled*: overflow. Numbers are 64 bits wide and signed, whatever width their variable had.

mod assemble;
mod infix;
mod items;
mod kquery;
mod lines;
mod order;
mod terms;
mod threads;

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

use crate::TraceFile;

/// A folder could not be read as a trace.
#[derive(Debug, Error)]
pub enum ImportError {
    #[error("cannot read {}: {source}", path.display())]
    Io { path: PathBuf, source: io::Error },
    #[error("{}: {what}", path.display())]
    Folder { path: PathBuf, what: String },
    #[error("{}:{line}: {what}", file.display())]
    Line { file: PathBuf, line: usize, what: String },
}

/// What the user may choose.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Which of several paths of a thread to read: `T2_1` is the path `1` of thread 2.
    pub paths: BTreeMap<u32, String>,
}

/// Reads a folder.
pub fn import(directory: &Path, options: &Options) -> Result<TraceFile, ImportError> {
    let mut notes = Vec::new();
    let mut files = Vec::new();
    for (id, path) in choose(directory, options, &mut notes)? {
        let bytes = std::fs::read(&path)
            .map_err(|source| ImportError::Io { path: path.clone(), source })?;
        files.push(lines::read(id, &path, &bytes)?);
    }
    let threads = threads::births(directory, &files, &mut notes)?;
    let items = items::items(&files, &threads, &mut notes)?;
    let order = order::guess(&items.threads, &threads);
    assemble::assemble(directory, &files, &threads, &items, &order, notes)
}

/// The files to read, one a thread, by thread.
fn choose(
    directory: &Path,
    options: &Options,
    notes: &mut Vec<String>,
) -> Result<Vec<(u32, PathBuf)>, ImportError> {
    let io = |source| ImportError::Io { path: directory.to_owned(), source };
    let folder = |what| ImportError::Folder { path: directory.to_owned(), what };
    // By thread: the paths there are. A file without a suffix is the path "".
    let mut found: BTreeMap<u32, BTreeMap<PathName, PathBuf>> = BTreeMap::new();
    let mut others = Vec::new();
    for entry in std::fs::read_dir(directory).map_err(io)? {
        let path = entry.map_err(io)?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        match thread_file(&name).filter(|_| path.is_file()) {
            Some((id, suffix)) => {
                let suffix = PathName::new(suffix);
                if let Some(other) = found.entry(id).or_default().insert(suffix, path) {
                    return Err(folder(format!("{} and {name} are one path", other.display())));
                }
            }
            None if name.starts_with('.') => {}
            None => others.push(name),
        }
    }
    if found.is_empty() {
        return Err(folder("there are no files T0, T1, … of a Symbiosis trace here".to_owned()));
    }
    others.sort();
    if !others.is_empty() {
        notes.push(format!("not read, because no thread's: {}", others.join(", ")));
    }
    if let Some(id) = options.paths.keys().find(|id| !found.contains_key(id)) {
        return Err(folder(format!("there is no thread {id} to choose a path of")));
    }
    let mut chosen = Vec::new();
    for (id, mut paths) in found {
        let names: Vec<String> = paths.keys().map(ToString::to_string).collect();
        let wanted = options.paths.get(&id).map(|p| PathName::new(p));
        let (name, path) = match wanted {
            Some(name) => match paths.remove(&name) {
                Some(path) => (name, path),
                None => {
                    let there = names.join(", ");
                    return Err(folder(format!("T{id} has no path {name}; there are {there}")));
                }
            },
            None => paths.pop_first().expect("a thread was found by a file"),
        };
        if names.len() > 1 {
            notes.push(format!("T{id} has the paths {}; {name} was read", names.join(", ")));
        }
        chosen.push((id, path));
    }
    Ok(chosen)
}

/// `T12_3`: thread 12, path `3`.
fn thread_file(name: &str) -> Option<(u32, &str)> {
    let rest = name.strip_prefix('T')?;
    let (id, path) = rest.split_once('_').unwrap_or((rest, ""));
    Some((lines::number(id)?, path))
}

/// The name of a path, ordered by number where it is one.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct PathName(Option<u64>, String);

impl PathName {
    fn new(name: &str) -> PathName {
        let name = name.strip_prefix('_').unwrap_or(name);
        // No suffix comes first, then numbers, then words.
        let number = if name.is_empty() { None } else { Some(name.parse().unwrap_or(u64::MAX)) };
        PathName(number, name.to_owned())
    }
}

impl std::fmt::Display for PathName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(if self.1.is_empty() { "(none)" } else { &self.1 })
    }
}
