//! Who is whose child: from the numbers of the files to names by birth.

use std::collections::HashMap;
use std::path::Path;

use unravel_trace::{Place, ThreadId, ThreadName};

use super::ImportError;
use super::lines::{ThreadFile, What};

/// One thread of the trace.
#[derive(Debug)]
pub(super) struct Thread {
    /// Its number in the files.
    pub id: u32,
    pub name: ThreadName,
    /// Index of its file; a thread that was forked may have none.
    pub file: Option<usize>,
    pub parent: Option<Parent>,
    pub joined: bool,
}

/// Which event forked a thread.
#[derive(Clone, Debug)]
pub(super) struct Parent {
    pub thread: ThreadId,
    /// Index into the events of the parent's file.
    pub line: usize,
    pub place: Place,
}

/// All threads, parents before their children; indexed by [`ThreadId`].
#[derive(Debug)]
pub(super) struct Threads {
    pub all: Vec<Thread>,
    by_id: HashMap<u32, ThreadId>,
}

impl Threads {
    pub fn find(&self, id: u32) -> Option<ThreadId> {
        self.by_id.get(&id).copied()
    }

    pub fn iter(&self) -> impl Iterator<Item = (ThreadId, &Thread)> {
        (0..).map(ThreadId).zip(&self.all)
    }

    pub fn get(&self, id: ThreadId) -> &Thread {
        &self.all[id.index()]
    }

    fn add(&mut self, thread: Thread) {
        self.by_id.insert(thread.id, ThreadId(self.all.len() as u32));
        self.all.push(thread);
    }
}

pub(super) fn births(
    directory: &Path,
    files: &[ThreadFile],
    notes: &mut Vec<String>,
) -> Result<Threads, ImportError> {
    let folder = |what| ImportError::Folder { path: directory.to_owned(), what };
    let file_of = |id: u32| files.iter().position(|file| file.id == id);
    let Some(main) = file_of(0) else {
        return Err(folder("there is no T0, the main thread".to_owned()));
    };
    check_forks(files)?;
    let mut threads = Threads { all: Vec::new(), by_id: HashMap::new() };
    let name = ThreadName::main();
    threads.add(Thread { id: 0, name, file: Some(main), parent: None, joined: false });
    let mut done = descend(files, &mut threads, 0, notes);

    // Who is forked by nobody may begin at any time; by name it is one more child of the main thread.
    let forked = |id| all_forks(files).any(|(_, _, child)| child == id);
    let orphans: Vec<u32> =
        files.iter().map(|f| f.id).filter(|id| *id != 0 && !forked(*id)).collect();
    for (nth, id) in orphans.into_iter().enumerate() {
        notes.push(format!("no thread forks T{id}: it may begin at any time"));
        let children = all_forks(files).filter(|(file, _, _)| files[*file].id == 0).count();
        let name = ThreadName::main().child((children + nth + 1) as u32);
        threads.add(Thread { id, name, file: file_of(id), parent: None, joined: false });
        done = descend(files, &mut threads, done, notes);
    }
    if let Some(file) = files.iter().find(|file| threads.find(file.id).is_none()) {
        return Err(folder(format!("T{} is forked only by threads that it forks", file.id)));
    }
    for file in files {
        for line in &file.events {
            let What::Join(child) = line.what else { continue };
            let Some(child) = threads.find(child) else {
                let what = format!("thread {child} is joined, but there is no T{child}");
                return Err(file.error(line.number, what));
            };
            threads.all[child.index()].joined = true;
        }
    }
    let renamed: Vec<String> = threads
        .all
        .iter()
        .filter(|thread| thread.id != 0 && thread.name.0 != [thread.id])
        .map(|thread| format!("T{} is {}", thread.id, thread.name))
        .collect();
    if !renamed.is_empty() {
        notes.push(format!("threads are named by birth: {}", renamed.join(", ")));
    }
    Ok(threads)
}

/// Adds the children of all threads from `from` on, and theirs. Returns how many threads there are then.
fn descend(
    files: &[ThreadFile],
    threads: &mut Threads,
    from: usize,
    notes: &mut Vec<String>,
) -> usize {
    let mut next = from;
    while let Some(thread) = threads.all.get(next) {
        let (parent, name) = (ThreadId(next as u32), thread.name.clone());
        let forks = thread.file.map(|file| forks(&files[file]));
        for (nth, (line, child)) in (1..).zip(forks.into_iter().flatten()) {
            let place = files[threads.all[next].file.expect("it forks")].events[line].place.clone();
            let file = files.iter().position(|file| file.id == child);
            if file.is_none() {
                notes.push(format!(
                    "thread {child} is forked, but there is no T{child}: it does nothing"
                ));
            }
            threads.add(Thread {
                id: child,
                name: name.child(nth),
                file,
                parent: Some(Parent { thread: parent, line, place }),
                joined: false,
            });
        }
        next += 1;
    }
    next
}

/// The forks in a file: index of the event, child.
fn forks(file: &ThreadFile) -> impl Iterator<Item = (usize, u32)> + '_ {
    file.events.iter().enumerate().filter_map(|(i, line)| match line.what {
        What::Fork(child) => Some((i, child)),
        _ => None,
    })
}

fn all_forks(files: &[ThreadFile]) -> impl Iterator<Item = (usize, usize, u32)> + '_ {
    files
        .iter()
        .enumerate()
        .flat_map(|(nth, file)| forks(file).map(move |(line, child)| (nth, line, child)))
}

/// A thread begins once, and the main thread before all.
fn check_forks(files: &[ThreadFile]) -> Result<(), ImportError> {
    let mut first: HashMap<u32, String> = HashMap::new();
    for (file, line, child) in all_forks(files) {
        let (file, line) = (&files[file], files[file].events[line].number);
        if child == 0 {
            return Err(file.error(line, "the main thread, 0, is forked"));
        }
        let here = format!("{}:{line}", file.path.display());
        if let Some(before) = first.insert(child, here) {
            return Err(file.error(line, format!("thread {child} is forked again, after {before}")));
        }
    }
    Ok(())
}
