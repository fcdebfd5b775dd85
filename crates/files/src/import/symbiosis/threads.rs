//! Who is whose child: from the numbers of the files to names by birth. One table for all executions of a folder, so that a
//! thread is the same in all of them; who takes part in one of them is its [`Cast`].

use std::collections::{HashMap, HashSet};
use std::path::Path;

use unravel_trace::{Place, ThreadId, ThreadName};

use super::ImportError;
use super::lines::{ThreadFile, What};
use super::number::ThreadNumber;

/// One thread, in whichever executions.
#[derive(Debug)]
pub(super) struct Thread {
    /// As the files have it.
    pub id: ThreadNumber,
    pub name: ThreadName,
}

/// All threads; indexed by [`ThreadId`]. Those of the execution that is read come first, parents before their children.
#[derive(Debug, Default)]
pub(super) struct Threads {
    pub all: Vec<Thread>,
    by_id: HashMap<ThreadNumber, ThreadId>,
    taken: HashSet<ThreadName>,
}

impl Threads {
    pub fn find(&self, id: &ThreadNumber) -> Option<ThreadId> {
        self.by_id.get(id).copied()
    }

    pub fn names(&self) -> Vec<ThreadName> {
        self.all.iter().map(|thread| thread.name.clone()).collect()
    }

    fn add(&mut self, id: &ThreadNumber, name: ThreadName) {
        self.by_id.insert(id.clone(), ThreadId(self.all.len() as u32));
        self.taken.insert(name.clone());
        self.all.push(Thread { id: id.clone(), name });
    }

    /// Adds a child of a thread, with this place among its children unless another has it.
    fn add_child(&mut self, id: &ThreadNumber, parent: &ThreadName, mut nth: u32) {
        while self.taken.contains(&parent.child(nth)) {
            nth += 1;
        }
        self.add(id, parent.child(nth));
    }

    /// Adds the threads of one execution.
    pub fn births(
        &mut self,
        directory: &Path,
        files: &[&ThreadFile],
        notes: &mut Vec<String>,
    ) -> Result<(), ImportError> {
        let folder = |what| ImportError::Folder { path: directory.to_owned(), what };
        let main = ThreadNumber::main();
        if !files.iter().any(|file| file.id == main) {
            return Err(folder("there is no T0, the main thread".to_owned()));
        }
        check_forks(files)?;
        self.add(&main, ThreadName::main());
        let mut done = self.descend(files, 0, notes);

        // Who is forked by nobody may begin at any time; by name it is one more child of the main thread.
        let forked =
            |id: &ThreadNumber| files.iter().any(|f| forks(f).any(|(_, child)| child == id));
        let orphans = files.iter().map(|f| &f.id).filter(|id| !id.is_main() && !forked(id));
        for id in orphans {
            notes.push(format!("no thread forks T{id}: it may begin at any time"));
            self.add_child(id, &ThreadName::main(), 1);
            done = self.descend(files, done, notes);
        }
        if let Some(file) = files.iter().find(|file| self.find(&file.id).is_none()) {
            return Err(folder(format!("T{} is forked only by threads that it forks", file.id)));
        }
        let renamed = self.all.iter().filter(|t| !t.id.is_main() && !t.is_named_so());
        let renamed: Vec<String> = renamed.map(|t| format!("T{} is {}", t.id, t.name)).collect();
        if !renamed.is_empty() {
            notes.push(format!("threads are named by birth: {}", renamed.join(", ")));
        }
        Ok(())
    }

    /// Adds the children of all threads from `from` on, and theirs. Returns how many threads there are then.
    fn descend(&mut self, files: &[&ThreadFile], from: usize, notes: &mut Vec<String>) -> usize {
        let mut next = from;
        while let Some(Thread { id, name }) = self.all.get(next) {
            let (id, name) = (id.clone(), name.clone());
            let file = files.iter().find(|file| file.id == id);
            for (nth, (_, child)) in (1..).zip(file.into_iter().flat_map(|file| forks(file))) {
                if !files.iter().any(|file| file.id == *child) {
                    notes.push(format!(
                        "thread {child} is forked, but there is no T{child}: it does nothing"
                    ));
                }
                self.add_child(child, &name, nth);
            }
            next += 1;
        }
        next
    }

    /// Adds what threads there are besides, in files that need not be of one execution.
    pub fn more(&mut self, files: &[&ThreadFile]) {
        let mut parents: Vec<&ThreadFile> = files.to_vec();
        // Children of known threads, as long as there are any.
        loop {
            let before = self.all.len();
            parents.retain(|file| {
                let Some(parent) = self.find(&file.id) else { return true };
                let name = self.all[parent.index()].name.clone();
                for (nth, (_, child)) in (1..).zip(forks(file)) {
                    if self.find(child).is_none() {
                        self.add_child(child, &name, nth);
                    }
                }
                false
            });
            if self.all.len() == before {
                break;
            }
        }
        for file in files {
            if self.find(&file.id).is_none() {
                self.add_child(&file.id, &ThreadName::main(), 1);
            }
        }
        let unborn: Vec<&ThreadNumber> =
            files.iter().flat_map(|file| forks(file)).map(|(_, child)| child).collect();
        for child in unborn {
            if self.find(child).is_none() {
                self.add_child(child, &ThreadName::main(), 1);
            }
        }
    }
}

impl Thread {
    /// Whether the name says what the number says.
    fn is_named_so(&self) -> bool {
        self.name.to_string() == format!("T0.{}", self.id)
    }
}

/// Who takes part in one execution.
#[derive(Debug)]
pub(super) struct Cast<'f> {
    /// Indexed by [`ThreadId`].
    pub members: Vec<Option<Member<'f>>>,
}

#[derive(Debug)]
pub(super) struct Member<'f> {
    /// A thread that was forked may have none.
    pub file: Option<&'f ThreadFile>,
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

impl<'f> Cast<'f> {
    pub fn get(&self, id: ThreadId) -> Option<&Member<'f>> {
        self.members.get(id.index())?.as_ref()
    }

    pub fn file(&self, id: ThreadId) -> Option<&'f ThreadFile> {
        self.get(id)?.file
    }

    pub fn files(&self) -> impl Iterator<Item = (ThreadId, &'f ThreadFile)> {
        (0..)
            .map(ThreadId)
            .zip(&self.members)
            .filter_map(|(id, member)| Some((id, member.as_ref()?.file?)))
    }

    /// The threads of one execution: those with files, and those that are forked.
    pub fn whole(files: &[&'f ThreadFile], threads: &Threads) -> Result<Cast<'f>, ImportError> {
        check_forks(files)?;
        let mut cast = Cast::of(files, threads);
        for file in files {
            let parent = threads.find(&file.id).expect("every file's thread is in the table");
            for (line, child) in forks(file) {
                let child = threads.find(child).expect("whoever is forked is in the table");
                let place = file.events[line].place.clone();
                let parent = Some(Parent { thread: parent, line, place });
                let none = Member { file: None, parent: None, joined: false };
                cast.members[child.index()].get_or_insert(none).parent = parent;
            }
        }
        for file in files {
            for line in &file.events {
                let What::Join(child) = &line.what else { continue };
                let member = threads.find(child).and_then(|c| cast.members[c.index()].as_mut());
                let Some(member) = member else {
                    let what = format!("thread {child} is joined, but there is no T{child}");
                    return Err(file.error(line.number, what));
                };
                member.joined = true;
            }
        }
        match files.iter().find(|file| !cast.is_born(threads, file)) {
            Some(file) => {
                let what = format!("T{} is forked only by threads that it forks", file.id);
                Err(file.error(1, what))
            }
            None => Ok(cast),
        }
    }

    /// Whether its parents lead to one who was always there.
    fn is_born(&self, threads: &Threads, file: &ThreadFile) -> bool {
        let parent = |id: ThreadId| Some(self.get(id)?.parent.as_ref()?.thread);
        let ancestors = std::iter::successors(threads.find(&file.id), |id| parent(*id));
        ancestors.take(self.members.len() + 1).count() <= self.members.len()
    }

    /// One thread by itself. Whether it is joined, others know.
    pub fn single(
        file: &'f ThreadFile,
        threads: &Threads,
        joined: bool,
    ) -> Result<Cast<'f>, ImportError> {
        check_forks(&[file])?;
        let mut cast = Cast::of(&[file], threads);
        for member in cast.members.iter_mut().flatten() {
            member.joined = joined;
        }
        for line in &file.events {
            if let What::Join(child) = &line.what
                && threads.find(child).is_none()
            {
                let what = format!("thread {child} is joined, but there is no T{child}");
                return Err(file.error(line.number, what));
            }
        }
        Ok(cast)
    }

    fn of(files: &[&'f ThreadFile], threads: &Threads) -> Cast<'f> {
        let mut members: Vec<Option<Member<'f>>> = threads.all.iter().map(|_| None).collect();
        for &file in files {
            let id = threads.find(&file.id).expect("every file's thread is in the table");
            members[id.index()] = Some(Member { file: Some(file), parent: None, joined: false });
        }
        Cast { members }
    }
}

/// The forks in a file: index of the event, child.
pub(super) fn forks(file: &ThreadFile) -> impl Iterator<Item = (usize, &ThreadNumber)> + '_ {
    file.events.iter().enumerate().filter_map(|(i, line)| match &line.what {
        What::Fork(child) => Some((i, child)),
        _ => None,
    })
}

/// A thread begins once, and the main thread before all.
fn check_forks(files: &[&ThreadFile]) -> Result<(), ImportError> {
    let mut first: HashMap<&ThreadNumber, String> = HashMap::new();
    for file in files {
        for (line, child) in forks(file) {
            let line = file.events[line].number;
            if child.is_main() {
                return Err(file.error(line, "the main thread, 0, is forked"));
            }
            let here = format!("{}:{line}", file.path.display());
            if let Some(before) = first.insert(child, here) {
                let what = format!("thread {child} is forked again, after {before}");
                return Err(file.error(line, what));
            }
        }
    }
    Ok(())
}
