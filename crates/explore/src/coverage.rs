//! What a search has seen: classes of interleavings, and which writes were read where.
//!
//! A search that brings nothing new any more is a search that can stop. Classes are counted by fingerprint, within one
//! visible set: when that grows, what was counted before is counted anew.

use rustc_hash::FxHashSet;
use unravel_execute::{Class, Collector};
use unravel_results::Covered;
use unravel_strategies::{LockOrderCollector, Profiler, SplitCollector};
use unravel_trace::{Alarm, Executed, Observer, Observes, ReadsFrom};

use crate::budgets::MOST_CLASSES;

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
    pub splits: Option<SplitCollector>,
    pub lock_orders: Option<LockOrderCollector>,
}

impl Noticed {
    pub fn clear(&mut self, teaches: bool) {
        self.class.clear();
        self.flows.clear();
        if teaches {
            self.profiler.get_or_insert_default();
            self.conflicts.get_or_insert_default().clear();
            self.splits.get_or_insert_default();
            self.lock_orders.get_or_insert_default();
        } else {
            self.profiler = None;
            self.splits = None;
            self.lock_orders = None;
            self.conflicts = None;
        }
    }
}

impl Observer for Noticed {
    fn observes(&self) -> Observes {
        Observes::Events
    }

    fn observe(&mut self, executed: &Executed<'_>) -> Option<Alarm> {
        self.flows.extend(self.class.add(executed));
        if let Some(profiler) = &mut self.profiler {
            profiler.observe(executed);
        }
        if let Some(splits) = &mut self.splits {
            splits.observe(executed);
        }
        if let Some(lock_orders) = &mut self.lock_orders {
            lock_orders.observe(executed);
        }
        self.conflicts.observe(executed)
    }
}
