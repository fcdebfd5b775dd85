//! A database as rooms use it: a view in memory, and where new runs are written.
//!
//! What is added is appended to a file at once, so that it outlives this process; [`Database::flush`] waits until it
//! outlives the machine too, and writes down how often known runs were seen again. What other writers add meanwhile is
//! seen when the database is opened the next time.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use unravel_files::{ProgramRef, validate_schedule, validate_thread};
use unravel_results::{Damage, Stats};
use unravel_trace::{Input, Schedule, ThreadId, ThreadName, ThreadTrace, VisibleSet};

use crate::contents::{Contents, KnownRun};
use crate::directory::Directory;
use crate::error::DatabaseError;
use crate::id::{RunId, TraceId, WriterId, canonical};
use crate::record::{Record, RunRecord, Seen, compress};
use crate::segment::Segment;

/// Traces of threads from many runs of one program.
#[derive(Debug)]
pub struct Database {
    pub(crate) contents: Contents,
    pub(crate) program: ProgramRef,
    pub(crate) place: Place,
    /// Who counts what is added here.
    writer: WriterId,
    /// Counts that are not written down yet.
    unwritten: BTreeMap<RunId, u64>,
    /// What could not be read when it was opened.
    pub(crate) damage: Damage,
}

/// Where a database is.
#[derive(Debug)]
pub(crate) enum Place {
    Memory,
    ReadOnly(Directory),
    /// The segment is made when something is added.
    Writable(Directory, Option<Segment>),
}

/// What adding a run changed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Added {
    /// Where it stands in [`Database::runs`], until something else is added.
    pub run: usize,
    pub new_run: bool,
    pub new_traces: usize,
}

impl Database {
    /// One that is never written.
    pub fn in_memory(program: ProgramRef) -> Database {
        Database::with(Contents::default(), program, Place::Memory)
    }

    /// The database of this program in a directory, which is made if it is not there.
    pub fn open(directory: &Path, program: &ProgramRef) -> Result<Database, DatabaseError> {
        let directory = Directory::of(directory, program)?;
        let gathered = directory.gather(false)?;
        let program = directory.program.clone();
        let place = Place::Writable(directory, None);
        let damage = gathered.damage;
        Ok(Database { damage, ..Database::with(gathered.contents, program, place) })
    }

    /// The database in a directory, whichever program's it is. Nothing can be added.
    pub fn read(directory: &Path) -> Result<Database, DatabaseError> {
        let directory = Directory::existing(directory)?;
        let gathered = directory.gather(false)?;
        let program = directory.program.clone();
        let place = Place::ReadOnly(directory);
        let damage = gathered.damage;
        Ok(Database { damage, ..Database::with(gathered.contents, program, place) })
    }

    fn with(contents: Contents, program: ProgramRef, place: Place) -> Database {
        let (writer, unwritten) = (WriterId::unique(), BTreeMap::new());
        Database { contents, program, place, writer, unwritten, damage: Damage::default() }
    }

    /// Adds a run that passed: the traces of its threads, who took each step, the schedule and the input that make it again,
    /// and where it came from. A combination of traces that is known with this input is counted, nothing else.
    pub fn add(
        &mut self,
        mut parts: Vec<ThreadTrace>,
        turns: Vec<ThreadId>,
        schedule: Schedule,
        input: Input,
        from: String,
    ) -> Result<Added, DatabaseError> {
        parts.sort_by_key(|part| part.thread);
        check(&parts, &turns, &schedule)?;
        let visible = Arc::new(canonical(&schedule.visible));
        let parts: Vec<Arc<ThreadTrace>> = parts.into_iter().map(Arc::new).collect();
        let threads: Vec<TraceId> = parts.iter().map(|part| TraceId::of(&visible, part)).collect();
        let id = RunId::of(&threads, &input);
        if let Some(run) = self.contents.find(&threads, &input, id) {
            self.count(run, id)?;
            return Ok(Added { run, new_run: false, new_traces: 0 });
        }
        let turns = compress(&turns);
        let record = RunRecord { threads, turns, schedule, input, from };
        let (threads, input) = (record.threads.clone(), record.input.clone());
        let seen: Seen = [(self.writer, 1)].into();
        let mut frames = Vec::new();
        let is_new = |id: &TraceId| !self.contents.traces.contains_key(id);
        if self.is_written()? {
            for (part, _) in parts.iter().zip(&threads).filter(|(_, id)| is_new(id)) {
                let record = Record::Trace { visible: visible.clone(), trace: part.clone() };
                frames.extend(record.framed()?);
            }
            frames.extend(
                Record::Run { run: Box::new(record.clone()), seen: seen.clone() }.framed()?,
            );
        }
        self.append(&frames)?;
        let mut new_traces = 0;
        for (part, id) in parts.iter().zip(&threads) {
            new_traces += usize::from(self.contents.add_trace(*id, &visible, part));
        }
        self.contents.settle_incomplete();
        self.contents.add_run(record, &seen);
        let run = self.contents.find(&threads, &input, id);
        let run = run.expect("a run whose traces are there is among the known ones");
        Ok(Added { run, new_run: true, new_traces })
    }

    /// The run was seen once more.
    fn count(&mut self, run: usize, id: RunId) -> Result<(), DatabaseError> {
        let written = self.is_written()?;
        let own = self.contents.marks[run].seen.entry(self.writer).or_default();
        *own += 1;
        if written {
            self.unwritten.insert(id, *own);
        }
        self.contents.runs[run].count = self.contents.runs[run].count.saturating_add(1);
        Ok(())
    }

    /// Whether what is added goes to a file.
    fn is_written(&self) -> Result<bool, DatabaseError> {
        match &self.place {
            Place::Memory => Ok(false),
            Place::Writable(..) => Ok(true),
            Place::ReadOnly(directory) => {
                Err(DatabaseError::ReadOnly { path: directory.path.clone() })
            }
        }
    }

    /// Appends to this writer's segment. After a failure the next one goes to another segment.
    pub(crate) fn append(&mut self, frames: &[u8]) -> Result<(), DatabaseError> {
        self.is_written()?;
        let Place::Writable(directory, segment) = &mut self.place else { return Ok(()) };
        if frames.is_empty() {
            return Ok(());
        }
        let mut open = match segment.take() {
            Some(open) => open,
            None => Segment::create(&directory.segments(), directory.program.fingerprint)?,
        };
        open.append(frames)?;
        *segment = Some(open);
        Ok(())
    }

    /// Returns when everything that was added is on the disk.
    pub fn flush(&mut self) -> Result<(), DatabaseError> {
        let mut frames = Vec::new();
        for (run, count) in &self.unwritten {
            let record = Record::Seen { run: *run, by: self.writer, count: *count };
            frames.extend(record.framed()?);
        }
        if !frames.is_empty() {
            self.append(&frames)?;
        }
        self.unwritten.clear();
        match &mut self.place {
            Place::Writable(_, Some(segment)) => segment.sync(),
            _ => Ok(()),
        }
    }

    /// Flushes and closes it. Without this, runs that were added are still there, but not how often they were seen again.
    pub fn finish(mut self) -> Result<(), DatabaseError> {
        self.flush()
    }

    /// The distinct runs: those with the fewest branches first. The order depends on nothing but what is stored.
    pub fn runs(&self) -> &[KnownRun] {
        &self.contents.runs
    }

    pub fn trace(&self, id: TraceId) -> Option<&ThreadTrace> {
        self.contents.traces.get(&id).map(|stored| &*stored.trace)
    }

    /// Traces of a thread whose paths begin so, recorded with this visible set: shortest path first, then by path and what the
    /// thread did.
    pub fn with_prefix(
        &self,
        thread: &ThreadName,
        prefix: &[u32],
        visible: &VisibleSet,
    ) -> Vec<TraceId> {
        let trie = self.contents.set(&canonical(visible)).and_then(|set| {
            let tries = self.contents.tries.get(thread)?;
            tries.get(&set)
        });
        trie.map_or_else(Vec::new, |trie| trie.with_prefix(prefix).map(|(_, id)| id).collect())
    }

    /// The program that all of this is of.
    pub fn programs(&self) -> &ProgramRef {
        &self.program
    }

    pub fn stats(&self) -> Stats {
        let mut stats = self.contents.stats(&self.program);
        let incomplete = stats.damage.incomplete;
        stats.damage = Damage { incomplete, ..self.damage };
        if let Place::ReadOnly(directory) | Place::Writable(directory, _) = &self.place {
            let files: Vec<PathBuf> = directory.listed().unwrap_or_default();
            let sizes = files.iter().filter_map(|file| file.metadata().ok());
            stats.bytes = sizes.map(|metadata| metadata.len()).sum();
            stats.segments = files.len();
        }
        stats
    }
}

/// Whether what is to be added fits together: a reader would refuse it otherwise.
fn check(
    parts: &[ThreadTrace],
    turns: &[ThreadId],
    schedule: &Schedule,
) -> Result<(), DatabaseError> {
    for part in parts {
        validate_thread(part)?;
    }
    validate_schedule(schedule)?;
    if let Some(pair) = parts.windows(2).find(|pair| pair[0].thread == pair[1].thread) {
        return Err(DatabaseError::TwiceTheThread(pair[0].name().clone()));
    }
    let refused = |what: String| Err(DatabaseError::Turns { what });
    if let Some(thread) = turns.iter().find(|turn| !parts.iter().any(|part| part.thread == **turn))
    {
        return refused(format!("there is no trace of thread {}", thread.0));
    }
    let steps: usize = parts.iter().map(|part| part.symbolic.steps.len()).sum();
    if turns.len() > steps {
        return refused(format!("{} turns for {steps} steps", turns.len()));
    }
    Ok(())
}
