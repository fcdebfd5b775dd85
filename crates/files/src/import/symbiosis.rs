//! The text traces of Symbiosis (Machado, Lucia, Rodrigues: *Concurrency Debugging with Differential Schedule
//! Projections*) and of Cortex after it (*Production-guided Concurrency Debugging*; thesis chapter 5), as their authors published them:
//! a folder with a file a thread, `T0`, `T1`, …
//!
//! [`folder`] finds the files, [`choose`] reads them and takes one execution, [`assertion`] says who fails. [`lines`] reads a file,
//! [`infix`] and [`kquery`] its expressions, [`threads`] tells who is whose child, [`items`] makes the events of each thread,
//! [`order`] puts them into one list, [`assemble`] makes the trace of it; [`gather`] does so for all executions, and [`executions`]
//! takes them apart.
//!
//! *Files*: `T<thread>`, `T<thread>_<path>` or `T<thread>_<execution>_<path>`; a thread is a number, or one with dots (`1.2`, the second
//! child of 1). A subfolder holds further traces of single threads, which were not seen together with others.
//!
//! *Lines*: `file@line:event`, with events `S-start-t`, `S-exit-t`, `S-lock_o-t`, `S-unlock_o-t`, `S-fork_c-t`, `S-join_c-t`, `S-wait_o-t`,
//! `S-timedwait_o-t`, `S-signal_o-t`, `S-signalall_o-t`, `R-v-t-n`, `W-v-t` or `W-v-t-n` (then `$value$`), `CS-t` (a call; then where to);
//! `branch-t`, where the next path condition is decided; `pathid-1…`, one digit for each of them; `<path>` or
//! `<pathjpf>`, then conditions `Tt:(…)`; `<assertThread_fail>` or `<assertThread_ok>` in the file whose last condition is the failure
//! or its negation. Whatever else there is is counted and said.
//!
//! Such a trace says what each thread did, not when: [`unravel_trace::KnownOrder::Unknown`]. The list of events is merely one
//! that could be; values of reads, who was woken by a signal and by whom a wait was ended are made up or left open,
//! and nobody may rely on them.
//!
//! *Where the format leaves something open*: a path condition without `branch-` lines has no position, so it is taken to be decided after
//! the last read of its thread that it names, and after the conditions before it. A timed wait is taken to have timed
//! out, which asks least of the others. A wait on an object that is also held as a lock releases that lock (a
//! monitor of Java), any other the lock that was taken last. A write may use what its thread read before, or a
//! thread that forked it before forking; path conditions may name any read. A variable is the same in two executions if it has the
//! same name and address there.
//!
//! *Not modelled*: overflow. Numbers are 64 bits wide and signed, whatever width their variable had. Strings can only be equal or not.

mod assemble;
mod assertion;
mod choose;
mod executions;
mod folder;
mod gather;
mod infix;
mod items;
mod kquery;
mod lines;
mod number;
mod order;
mod terms;
mod threads;

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;
use unravel_trace::{Input, Note, Outcome, Rules, Run, Schedule};

use assemble::{Assembled, assemble};
use choose::{Fingerprint, Read, choose};
use folder::Folder;
use gather::{Other, gather, take_apart};
use lines::{Assertion, ThreadFile};

pub use executions::Execution;
pub use number::ThreadNumber;

use crate::{ProgramRef, TraceFile};

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
    pub paths: BTreeMap<ThreadNumber, String>,
    /// Which of several executions to read.
    pub execution: Option<String>,
    /// The thread whose last path condition is the failure, where no file is marked.
    pub failing: Option<ThreadNumber>,
}

/// What a folder holds.
#[derive(Clone, Debug)]
pub struct Imported {
    /// The execution that was chosen.
    pub file: TraceFile,
    /// All of them, taken apart, if any thread has more than one path: the chosen one first. They fit together and with `file`.
    pub executions: Vec<Execution>,
}

/// Reads a folder.
pub fn import(directory: &Path, options: &Options) -> Result<Imported, ImportError> {
    let mut notes = Vec::new();
    let folder = Folder::read(directory)?;
    if folder.files.is_empty() {
        let what = "there are no files T0, T1, … of a Symbiosis trace here".to_owned();
        return Err(ImportError::Folder { path: directory.to_owned(), what });
    }
    if !folder.others.is_empty() {
        notes.push(format!("not read, because no thread's: {}", folder.others.join(", ")));
    }
    let (reads, contents) = choose::read(&folder);
    let chosen = choose(directory, &reads, options, &mut notes)?;
    let (mut files, chosen, others) = sort_out(reads, &chosen, &mut notes)?;
    assertion::settle(directory, &mut files, &chosen, options, &mut notes)?;
    say_unknown(&files, &chosen, &mut notes);
    let mut gathered = gather(directory, &files, &chosen, &others, &mut notes)?;
    let base = gathered.scenes.remove(0);
    let order = order::guess(&base.items, &base.cast);
    let assembled = assemble(&base.cast, &base.items, &order, &mut gathered.tables, base.extent)?;
    let mut executions = Vec::new();
    if !gathered.scenes.is_empty() {
        executions = take_apart(&files, base, gathered.scenes, &mut gathered.tables, &mut notes);
    }
    notes.extend(gathered.tables.strings.note());
    if chosen.iter().any(|index| files[*index].assertion == Some(Assertion::Holds)) {
        notes
            .push("recorded in a run that passed; the bug is the negation of its assertion".into());
    }
    let mut fingerprint = Fingerprint(contents);
    fingerprint.add(format!("{options:?}").as_bytes());
    let file = trace_file(directory, assembled, fingerprint.0, notes);
    Ok(Imported { file, executions })
}

/// Files of threads, which of them were chosen, and what the others are.
type Sorted = (Vec<ThreadFile>, Vec<usize>, Vec<Other>);

/// The files that could be read. Of those that were chosen, all must be; what is wrong with others is said.
fn sort_out(
    reads: Vec<Read>,
    chosen: &[usize],
    notes: &mut Vec<String>,
) -> Result<Sorted, ImportError> {
    let (mut files, mut places, mut others) = (Vec::new(), Vec::new(), Vec::new());
    let mut broken = Vec::new();
    let own = reads.get(*chosen.first().unwrap_or(&0)).map(|read| read.name.execution.clone());
    for (index, Read { name, single, file }) in reads.into_iter().enumerate() {
        let is_chosen = chosen.contains(&index);
        match file {
            Err(error) if is_chosen => return Err(error),
            Err(error) => broken.push(error),
            Ok(file) if is_chosen => {
                places.push(files.len());
                files.push(file);
            }
            Ok(file) => {
                // Another path of the execution that is read was not seen with the rest of it, as far as anybody knows.
                let single = single || Some(&name.execution) == own.as_ref();
                let execution = name.execution.to_string();
                others.push(Other { file: files.len(), execution, single });
                files.push(file);
            }
        }
    }
    if let Some(first) = broken.first() {
        notes.push(format!("{} of other paths left out: {first}", count(broken.len(), "file")));
    }
    Ok((files, places, others))
}

/// `3 files`.
fn count(number: usize, noun: &str) -> String {
    format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
}

fn say_unknown(files: &[ThreadFile], chosen: &[usize], notes: &mut Vec<String>) {
    let mut elsewhere = 0;
    for (index, file) in files.iter().enumerate() {
        let lines = file.unknown.len();
        match file.unknown.first() {
            Some(first) if chosen.contains(&index) => {
                let (name, lines) =
                    (file.path.file_name().unwrap_or_default(), count(lines, "line"));
                let name = name.to_string_lossy();
                notes.push(format!("{name}: {lines} passed over, not understood (first: {first})"));
            }
            _ => elsewhere += lines,
        }
    }
    if elsewhere > 0 {
        let lines = count(elsewhere, "line");
        notes.push(format!("{lines} of other paths passed over, not understood"));
    }
}

fn trace_file(
    directory: &Path,
    assembled: Assembled,
    fingerprint: u64,
    notes: Vec<String>,
) -> TraceFile {
    let full = directory.canonicalize().unwrap_or_else(|_| directory.to_owned());
    let name = full.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let Assembled { trace, symbolic, failure } = assembled;
    let failure = failure.expect("one thread of the chosen execution has the assertion");
    let run = Run {
        schedule: Schedule { threads: trace.threads.clone(), ..Schedule::default() },
        outcome: Outcome::Failed(Box::new(failure)),
        steps: trace.events.len() as u64,
        notes: notes.into_iter().map(Note::Other).collect(),
        symbolic: Some(Box::new(symbolic)),
        trace,
        ..Run::default()
    };
    let cwd = full.display().to_string();
    TraceFile {
        program: ProgramRef { name, cwd, fingerprint, ..ProgramRef::default() },
        input: Input::default(),
        rules: Rules::default(),
        strategy: "import:symbiosis".to_owned(),
        seed: None,
        engine: String::new(),
        run,
    }
}
