//! Which of several executions, and of several paths of a thread, is read into the trace. What is not chosen is material for
//! combinations ([`super::executions`]).

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::folder::{FileName, Folder, Label};
use super::lines::{self, Assertion, ThreadFile};
use super::number::ThreadNumber;
use super::threads::forks;
use super::{ImportError, Options};

/// One file.
#[derive(Debug)]
pub(super) struct Read {
    pub name: FileName,
    /// It lies in a subfolder: nobody saw it together with others.
    pub single: bool,
    pub file: Result<ThreadFile, ImportError>,
}

/// Reads all files of a folder, and their bytes as a fingerprint.
pub(super) fn read(folder: &Folder) -> (Vec<Read>, u64) {
    let mut fingerprint = Fingerprint::default();
    let named = folder.files.iter().map(|(name, path)| (name, path, false));
    let single = folder.single.iter().map(|(name, path)| (name, path, true));
    let mut read = |(name, path, single): (&FileName, &std::path::PathBuf, bool)| {
        let file = match std::fs::read(path) {
            Ok(bytes) => {
                fingerprint.add(path.file_name().unwrap_or_default().as_encoded_bytes());
                fingerprint.add(&bytes);
                lines::read(&name.thread, path, &bytes)
            }
            Err(source) => Err(ImportError::Io { path: path.clone(), source }),
        };
        Read { name: name.clone(), single, file }
    };
    let all = named.chain(single).map(&mut read).collect();
    (all, fingerprint.0)
}

/// FNV-1a: which folder a database was made of.
#[derive(Debug)]
pub(super) struct Fingerprint(pub u64);

impl Default for Fingerprint {
    fn default() -> Fingerprint {
        Fingerprint(0xcbf2_9ce4_8422_2325)
    }
}

impl Fingerprint {
    pub fn add(&mut self, bytes: &[u8]) {
        for byte in bytes.iter().chain(&[0]) {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
}

/// The files of one execution, by thread, as indices into `reads`.
pub(super) fn choose(
    directory: &Path,
    reads: &[Read],
    options: &Options,
    notes: &mut Vec<String>,
) -> Result<Vec<usize>, ImportError> {
    let folder = |what| ImportError::Folder { path: directory.to_owned(), what };
    let execution = execution(reads, options).map_err(folder)?;
    // By thread: the paths there are.
    let mut found: BTreeMap<_, BTreeMap<&Label, usize>> = BTreeMap::new();
    for (index, read) in reads.iter().enumerate() {
        if !read.single && read.name.execution == execution {
            found.entry(&read.name.thread).or_default().insert(&read.name.path, index);
        }
    }
    if let Some(id) = options.paths.keys().find(|id| !found.contains_key(id)) {
        return Err(folder(format!("there is no thread {id} to choose a path of")));
    }
    let mut chosen = Vec::new();
    for (id, mut paths) in found {
        let names: Vec<String> = paths.keys().map(ToString::to_string).collect();
        let (name, index) = match options.paths.get(id).map(|path| Label::new(path)) {
            Some(name) => match paths.remove(&name) {
                Some(index) => (name, index),
                None => {
                    let there = names.join(", ");
                    return Err(folder(format!("T{id} has no path {name}; there are {there}")));
                }
            },
            None => {
                let (name, index) = paths.pop_first().expect("a thread was found by a file");
                (name.clone(), index)
            }
        };
        if names.len() > 1 {
            notes.push(format!("T{id} has the paths {}; {name} was read", names.join(", ")));
        }
        chosen.push(index);
    }
    let all = executions(reads);
    if all.len() > 1 {
        notes.push(format!("there are {} executions; {execution} was read", all.len()));
    }
    Ok(chosen)
}

fn executions(reads: &[Read]) -> BTreeSet<&Label> {
    reads.iter().filter(|read| !read.single).map(|read| &read.name.execution).collect()
}

/// The execution that the user named; else one that can be read, of which every thread is there, and which is known to have failed or
/// has an assertion at least; the lowest of these.
fn execution(reads: &[Read], options: &Options) -> Result<Label, String> {
    let all = executions(reads);
    if let Some(wanted) = &options.execution {
        let wanted = Label::new(wanted);
        if all.contains(&wanted) {
            return Ok(wanted);
        }
        let there: Vec<String> = all.iter().map(ToString::to_string).collect();
        return Err(format!("there is no execution {wanted}; there are {}", there.join(", ")));
    }
    let rank = |execution: &&Label| {
        let own = || reads.iter().filter(|read| !read.single && read.name.execution == **execution);
        let has_main = own().any(|read| read.name.thread.is_main());
        let is_broken = own().any(|read| read.file.is_err());
        let marked = |wanted| {
            own().any(|read| read.file.as_ref().is_ok_and(|file| file.assertion == Some(wanted)))
        };
        let there = |id: &ThreadNumber| own().any(|read| read.name.thread == *id);
        let read = || own().filter_map(|read| read.file.as_ref().ok());
        let is_whole = read().flat_map(forks).all(|(_, child)| there(child));
        let (fails, holds) = (marked(Assertion::Fails), marked(Assertion::Holds));
        (!has_main, is_broken, !is_whole, !fails, !holds)
    };
    // Of equals the first.
    let best = all.into_iter().min_by_key(rank);
    best.cloned().ok_or_else(|| "there are no files T0, T1, … of a Symbiosis trace here".to_owned())
}
