//! What a database knows, in memory: traces in tries, runs in an order of their own. Knows nothing of files.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use unravel_trace::{Input, Schedule, ThreadId, ThreadName, ThreadTrace, VisibleSet};

use crate::id::{RunId, Standing, TraceId, canonical};
use crate::record::{Record, RunRecord, Seen, compress, expand};
use crate::trie::Trie;

/// A run that was seen: which traces its threads had, and an order that they had them in.
#[derive(Clone, PartialEq, Debug)]
pub struct KnownRun {
    /// By the thread ids of the traces.
    pub threads: Vec<TraceId>,
    /// Owner of each step, in order.
    pub turns: Vec<ThreadId>,
    pub schedule: Schedule,
    pub input: Input,
    /// How often this combination was seen, in whatever order.
    pub count: u64,
    /// Where it came from: `seed 7`.
    pub from: String,
}

#[derive(Clone, Debug)]
pub(crate) struct StoredTrace {
    /// Index into [`Contents::sets`].
    pub set: usize,
    pub standing: Standing,
    pub trace: Arc<ThreadTrace>,
}

/// Branches of all threads together, then what the threads did.
pub(crate) type Rank = (usize, Standing);

/// What is known of a run besides itself.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Mark {
    /// Runs stand in this order, then in that of their ids.
    pub rank: Rank,
    pub id: RunId,
    pub seen: Seen,
}

/// A run that lacks something: a trace, or all but how often it was seen. It may lie in a segment that is yet to come.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct Incomplete {
    pub record: Option<RunRecord>,
    pub seen: Seen,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Contents {
    /// Distinct visible sets, in their one representation.
    pub sets: Vec<Arc<VisibleSet>>,
    pub traces: BTreeMap<TraceId, StoredTrace>,
    pub tries: BTreeMap<ThreadName, BTreeMap<usize, Trie<(Standing, TraceId)>>>,
    pub runs: Vec<KnownRun>,
    /// One for each run.
    pub marks: Vec<Mark>,
    pub incomplete: BTreeMap<RunId, Incomplete>,
    /// Runs that contradicted their traces and were left out.
    pub contradictory: u64,
}

/// Why a run cannot be told from its record.
enum Unresolved {
    Missing,
    Contradictory,
}

impl Contents {
    /// True if it was new. The trace is valid and the set canonical.
    pub fn add_trace(
        &mut self,
        id: TraceId,
        visible: &Arc<VisibleSet>,
        trace: &Arc<ThreadTrace>,
    ) -> bool {
        if self.traces.contains_key(&id) {
            return false;
        }
        let set = self.set(visible).unwrap_or_else(|| {
            self.sets.push(visible.clone());
            self.sets.len() - 1
        });
        let tries = self.tries.entry(trace.name().clone()).or_default();
        let standing = Standing::of_trace(visible, trace);
        tries.entry(set).or_default().insert(&trace.path, (standing, id));
        self.traces.insert(id, StoredTrace { set, standing, trace: trace.clone() });
        true
    }

    /// The number of a canonical set.
    pub fn set(&self, visible: &VisibleSet) -> Option<usize> {
        self.sets.iter().position(|set| **set == *visible)
    }

    /// Where the run stands, or where it would.
    pub fn place(&self, rank: Rank, id: RunId) -> Result<usize, usize> {
        self.marks.binary_search_by_key(&(rank, id), |mark| (mark.rank, mark.id))
    }

    /// The rank of these traces together; `None` if one of them is not there.
    pub fn rank(&self, threads: &[TraceId], input: &Input) -> Option<Rank> {
        let stored: Option<Vec<&StoredTrace>> =
            threads.iter().map(|id| self.traces.get(id)).collect();
        let stored = stored?;
        let standings: Vec<Standing> = stored.iter().map(|stored| stored.standing).collect();
        let branches = stored.iter().map(|stored| stored.trace.path.len()).sum();
        Some((branches, Standing::of_run(&standings, input)))
    }

    /// Where a run stands that is known.
    pub fn find(&self, threads: &[TraceId], input: &Input, id: RunId) -> Option<usize> {
        self.place(self.rank(threads, input)?, id).ok()
    }

    /// Takes in what somebody saw. A run that is known keeps its simpler way; counts never shrink.
    pub fn add_run(&mut self, record: RunRecord, seen: &Seen) {
        let id = record.id();
        let mut all = Incomplete { record: Some(record), seen: seen.clone() };
        if let Some(earlier) = self.incomplete.remove(&id) {
            all.join(earlier);
        }
        self.settle(id, all);
    }

    /// Whether [`Contents::add_run`] would change anything.
    pub fn would_learn(&self, record: &RunRecord, seen: &Seen) -> bool {
        let id = record.id();
        let known = match self.find(&record.threads, &record.input, id) {
            Some(run) => {
                Incomplete { record: Some(self.record(run)), seen: self.marks[run].seen.clone() }
            }
            None => self.incomplete.get(&id).cloned().unwrap_or_default(),
        };
        let mut after = known.clone();
        after.join(Incomplete { record: Some(record.clone()), seen: seen.clone() });
        after != known
    }

    /// Runs that lacked a trace may have it now.
    pub fn settle_incomplete(&mut self) {
        let incomplete = std::mem::take(&mut self.incomplete);
        self.add_gathered(incomplete);
    }

    /// Takes in everything that was gathered from files; damage has been counted.
    pub fn add_gathered(&mut self, runs: BTreeMap<RunId, Incomplete>) {
        for (id, run) in runs {
            self.settle(id, run);
        }
    }

    /// Puts a run where it belongs: among the known ones if nothing is missing.
    fn settle(&mut self, id: RunId, mut all: Incomplete) {
        let Some(record) = all.record.take() else {
            self.incomplete.entry(id).or_default().join(all);
            return;
        };
        let known = match self.resolve(&record) {
            Ok(known) => known,
            Err(Unresolved::Contradictory) => {
                self.contradictory += 1;
                return;
            }
            Err(Unresolved::Missing) => {
                all.record = Some(record);
                self.incomplete.entry(id).or_default().join(all);
                return;
            }
        };
        let rank = self.rank(&known.threads, &known.input);
        let rank = rank.expect("a run that was resolved has its traces");
        match self.place(rank, id) {
            Ok(at) => {
                let old = self.record(at);
                if old.clone().simpler(record) != old {
                    self.runs[at] = known;
                }
                join_seen(&mut self.marks[at].seen, &all.seen);
            }
            Err(at) => {
                self.runs.insert(at, known);
                self.marks.insert(at, Mark { rank, id, seen: all.seen });
            }
        }
        let place = self.place(rank, id).unwrap_or_else(|at| at);
        self.runs[place].count = total(&self.marks[place].seen);
    }

    /// The run of a record, if its traces are there and everything in it fits them.
    fn resolve(&self, record: &RunRecord) -> Result<KnownRun, Unresolved> {
        let mut stored = Vec::new();
        for id in &record.threads {
            stored.push(self.traces.get(id).ok_or(Unresolved::Missing)?);
        }
        let set = self.set(&canonical(&record.schedule.visible));
        let ordered = stored.windows(2).all(|pair| pair[0].trace.thread < pair[1].trace.thread);
        if !ordered || stored.iter().any(|trace| Some(trace.set) != set) {
            return Err(Unresolved::Contradictory);
        }
        let steps = stored.iter().map(|stored| stored.trace.symbolic.steps.len()).sum();
        let turns = expand(&record.turns, steps).ok_or(Unresolved::Contradictory)?;
        let threads: BTreeSet<ThreadId> = stored.iter().map(|stored| stored.trace.thread).collect();
        if record.turns.iter().any(|(thread, _)| !threads.contains(thread)) {
            return Err(Unresolved::Contradictory);
        }
        Ok(KnownRun {
            threads: record.threads.clone(),
            turns,
            schedule: record.schedule.clone(),
            input: record.input.clone(),
            count: 0,
            from: record.from.clone(),
        })
    }

    /// A known run as it is stored.
    pub fn record(&self, run: usize) -> RunRecord {
        let run = &self.runs[run];
        RunRecord {
            threads: run.threads.clone(),
            turns: compress(&run.turns),
            schedule: run.schedule.clone(),
            input: run.input.clone(),
            from: run.from.clone(),
        }
    }

    pub fn trace_record(&self, stored: &StoredTrace) -> Record {
        Record::Trace { visible: self.sets[stored.set].clone(), trace: stored.trace.clone() }
    }

    /// Everything, each thing once: traces first, so that whoever reads half of it can use that half.
    pub fn records(&self) -> impl Iterator<Item = Record> + '_ {
        let traces = self.traces.values().map(|stored| self.trace_record(stored));
        let runs = self.marks.iter().enumerate();
        let runs = runs.map(|(i, mark)| Record::Run {
            run: Box::new(self.record(i)),
            seen: mark.seen.clone(),
        });
        let incomplete = self.incomplete.iter().flat_map(|(id, run)| match &run.record {
            Some(record) => {
                vec![Record::Run { run: Box::new(record.clone()), seen: run.seen.clone() }]
            }
            None => {
                let seen = run.seen.iter();
                seen.map(|(by, count)| Record::Seen { run: *id, by: *by, count: *count }).collect()
            }
        });
        traces.chain(runs).chain(incomplete)
    }
}

impl Incomplete {
    pub fn join(&mut self, other: Incomplete) {
        self.record = match (self.record.take(), other.record) {
            (Some(a), Some(b)) => Some(a.simpler(b)),
            (a, b) => a.or(b),
        };
        join_seen(&mut self.seen, &other.seen);
    }
}

/// Of two counts of one writer the larger one is the later one.
fn join_seen(into: &mut Seen, from: &Seen) {
    for (by, count) in from {
        let known = into.entry(*by).or_default();
        *known = (*known).max(*count);
    }
}

pub(crate) fn total(seen: &Seen) -> u64 {
    seen.values().fold(0, |sum: u64, count| sum.saturating_add(*count))
}
