//! The traces of threads that a hunt works with: those of the database, and those it made itself.

use std::rc::Rc;

use rustc_hash::FxHashMap;
use unravel_database::{Database, KnownRun, TraceId};
use unravel_results::Flip;
use unravel_trace::{Combined, Incompatible, Input, ThreadId, ThreadTrace, combine};

use crate::flips::What;

/// A trace of a thread.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct PartId(u32);

/// All that are known.
#[derive(Debug, Default)]
pub struct Parts {
    all: Vec<Rc<ThreadTrace>>,
    stored: FxHashMap<TraceId, PartId>,
}

impl Parts {
    pub fn get(&self, id: PartId) -> &Rc<ThreadTrace> {
        &self.all[id.0 as usize]
    }

    /// A trace of the database.
    pub fn stored(&mut self, database: &Database, id: TraceId) -> Option<PartId> {
        if let Some(known) = self.stored.get(&id) {
            return Some(*known);
        }
        let part = self.made(database.trace(id)?.clone());
        self.stored.insert(id, part);
        Some(part)
    }

    /// A trace that a hunt made.
    pub fn made(&mut self, trace: ThreadTrace) -> PartId {
        let same = self.all.iter().position(|other| **other == trace);
        let index = same.unwrap_or_else(|| {
            self.all.push(Rc::new(trace));
            self.all.len() - 1
        });
        PartId(index as u32)
    }
}

/// One trace for each thread: an execution that was observed, or may be possible.
#[derive(Clone, Debug)]
pub struct Combination {
    /// By thread.
    pub parts: Vec<PartId>,
    /// Whose turn it was, in the run that this was derived from.
    pub turns: Rc<[ThreadId]>,
    pub input: Input,
    /// The run that it was derived from.
    pub origin: Rc<KnownRun>,
    /// The branches that go another way than there, in the order they were flipped.
    pub turned: Vec<Flip>,
    /// The same for us. Nothing is flipped back: what would come of it is derived from the run itself.
    pub fixed: Vec<(ThreadId, What)>,
    /// The largest rank among them (D), and the largest number of a trace for a flip (N).
    pub depth: u32,
    pub traces: u32,
}

impl Combination {
    /// The same with another trace of one thread.
    pub fn with(&self, parts: &Parts, part: PartId) -> Combination {
        let thread = parts.get(part).thread;
        let mut changed = self.clone();
        match changed.parts.iter().position(|old| parts.get(*old).thread == thread) {
            Some(at) => changed.parts[at] = part,
            None => changed.parts.push(part),
        }
        changed.parts.sort_by_key(|part| parts.get(*part).thread);
        changed
    }

    /// The trace of a thread.
    pub fn part(&self, parts: &Parts, thread: ThreadId) -> Option<PartId> {
        self.parts.iter().copied().find(|part| parts.get(*part).thread == thread)
    }

    /// Puts it together.
    pub fn combine(&self, parts: &Parts) -> Result<Combined, Incompatible> {
        let traces: Vec<&ThreadTrace> = self.parts.iter().map(|part| &**parts.get(*part)).collect();
        combine(&traces, &self.turns)
    }
}
