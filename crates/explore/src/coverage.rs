//! What a search has seen: classes of interleavings, and which writes were read where.
//!
//! A search that brings nothing new any more is a search that can stop. Classes are counted by fingerprint, within one
//! visible set: when that grows, what was counted before is counted anew.

use rustc_hash::FxHashSet;
use unravel_results::Covered;
use unravel_trace::{Alarm, Choice, Executed, Observes, Question, ReadsFrom, Scheduler, View};

use unravel_execute::Class;
use unravel_execute::Collector;
use unravel_strategies::Profiler;

/// Everything seen by a search.
#[derive(Clone, Debug, Default)]
pub(crate) struct Coverage {
    pub classes: FxHashSet<u64>,
    pub flows: FxHashSet<ReadsFrom>,
    /// Those seen in runs that all shards execute.
    pub common: FxHashSet<ReadsFrom>,
    /// Runs counted, and classes that were new, in this epoch and in the one before.
    now: (u64, u64),
    last: (u64, u64),
}

/// Further classes are not counted: a search of hours would fill the memory with them.
const MOST_CLASSES: usize = 1 << 24;

impl Coverage {
    /// Adds the classes of some runs.
    pub fn add(&mut self, classes: &[u64], flows: &[ReadsFrom]) {
        self.flows.extend(flows);
        if self.classes.len() >= MOST_CLASSES {
            return;
        }
        let new = classes.iter().filter(|class| self.classes.insert(**class)).count() as u64;
        self.now = (self.now.0 + classes.len() as u64, self.now.1 + new);
    }

    /// An epoch is over. If the visible set has grown, fingerprints mean something else from now on.
    pub fn end_epoch(&mut self, grew: bool) {
        if grew {
            *self = Coverage { common: std::mem::take(&mut self.common), ..Coverage::default() };
        } else if self.now.0 > 0 {
            self.last = std::mem::take(&mut self.now);
        }
    }

    pub fn covered(&self) -> Covered {
        let recent = if self.now.0 >= self.last.0 { self.now } else { self.last };
        Covered {
            classes: self.classes.len() as u64,
            reads_from: self.flows.len() as u64,
            recent_schedules: recent.0,
            recent_classes: recent.1,
        }
    }
}

/// What is noticed in one run.
#[derive(Clone, Debug, Default)]
pub(crate) struct Noticed {
    pub class: Class,
    pub flows: FxHashSet<ReadsFrom>,
    /// Only where the run is to teach something.
    pub profiler: Option<Profiler>,
    pub conflicts: Option<Collector>,
}

impl Noticed {
    pub fn clear(&mut self, teaches: bool) {
        self.class.clear();
        self.flows.clear();
        if teaches {
            self.profiler.get_or_insert_default();
            self.conflicts.get_or_insert_default().clear();
        } else {
            self.profiler = None;
            self.conflicts = None;
        }
    }
}

/// A scheduler that is watched.
pub(crate) struct Watched<'a> {
    pub inner: &'a mut dyn Scheduler,
    pub noticed: &'a mut Noticed,
}

impl Scheduler for Watched<'_> {
    fn next(&mut self, view: &View<'_>) -> Choice {
        self.inner.next(view)
    }

    fn choose(&mut self, what: Question, options: u32) -> u32 {
        self.inner.choose(what, options)
    }

    fn finish(&mut self, events: u64) {
        self.inner.finish(events);
    }

    fn observes(&self) -> Observes {
        self.inner.observes().max(Observes::Events)
    }

    fn observe(&mut self, executed: &Executed<'_>) -> Option<Alarm> {
        let noticed = &mut *self.noticed;
        noticed.flows.extend(noticed.class.add(executed));
        if let Some(profiler) = &mut noticed.profiler {
            profiler.observe(executed);
        }
        if let Some(conflicts) = &mut noticed.conflicts {
            conflicts.observe(executed);
        }
        self.inner.observe(executed)
    }
}
