//! What a search has seen: classes of interleavings, and which writes were read where.
//!
//! A search that brings nothing new any more is a search that can stop. Classes are counted by fingerprint, within one
//! visible set: when that grows, what was counted before is counted anew.

use rustc_hash::FxHashSet;
use unravel_execute::{Class, Collector};
use unravel_results::Covered;
use unravel_strategies::{Guesses, LockOrderCollector, Needs, Profiler, Sight, SplitCollector};
use unravel_trace::{Alarm, Executed, Observer, Observes, ReadsFrom, Schedule};

use crate::budgets::MOST_CLASSES;
use crate::worker::Lesson;

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

/// What is noticed while runs are executed.
#[derive(Clone, Debug)]
pub(crate) struct Noticed {
    /// Of this run.
    pub class: Class,
    /// Of all runs whose purpose is coverage, since it was last emptied.
    flows: FxHashSet<ReadsFrom>,
    /// Some of those: most reads are like one that was just seen, and a look here costs less than one there.
    recent: [Option<ReadsFrom>; RECENT],
    /// Of this run, if it has another purpose.
    pub apart: FxHashSet<ReadsFrom>,
    purpose: Purpose,
    teaching: Teaching,
}

/// A power of two.
const RECENT: usize = 128;

/// What a run is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Purpose {
    /// Whatever it shows counts.
    Coverage,
    /// Whether it counts is known when it has ended.
    Trial,
    /// It is to teach something, too.
    Lesson,
}

/// What strategies want to know of a run.
#[derive(Clone, Debug, Default)]
struct Teaching {
    needs: Needs,
    profiler: Profiler,
    conflicts: Collector,
    splits: SplitCollector,
    lock_orders: LockOrderCollector,
}

impl Noticed {
    pub fn new(needs: Needs) -> Noticed {
        Noticed {
            class: Class::default(),
            flows: FxHashSet::default(),
            recent: [None; RECENT],
            apart: FxHashSet::default(),
            purpose: Purpose::Coverage,
            teaching: Teaching { needs, ..Teaching::default() },
        }
    }

    /// A new run begins.
    pub fn begin(&mut self, purpose: Purpose) {
        self.class.clear();
        self.apart.clear();
        self.purpose = purpose;
    }

    /// What the run taught.
    pub fn lesson(
        &mut self,
        index: u64,
        sight: Sight,
        schedule: &Schedule,
        guesses: Guesses,
    ) -> Lesson {
        let names = &schedule.threads;
        Lesson {
            index,
            sight,
            events: schedule.events(),
            threads: names.len() as u64,
            flows: self.apart.iter().copied().collect(),
            profile: self.teaching.profiler.finish(names),
            conflicts: self.teaching.conflicts.finish(),
            splits: self.teaching.splits.finish(),
            lock_orders: self.teaching.lock_orders.finish(names),
            guesses,
        }
    }

    /// All that counts, since this was last asked.
    pub fn take_flows(&mut self) -> Vec<ReadsFrom> {
        self.recent = [None; RECENT];
        self.flows.drain().collect()
    }

    fn count(&mut self, flow: ReadsFrom) {
        let write = flow.write.map_or(0, |site| site.0);
        let recent = &mut self.recent[(flow.read.0 ^ write << 3) as usize % RECENT];
        if *recent != Some(flow) {
            *recent = Some(flow);
            self.flows.insert(flow);
        }
    }

    /// What was kept apart counts.
    pub fn count_apart(&mut self) {
        self.flows.extend(&self.apart);
    }
}

impl Observer for Noticed {
    fn observes(&self) -> Observes {
        Observes::Events
    }

    fn observe(&mut self, executed: &Executed<'_>) -> Option<Alarm> {
        let flow = self.class.add(executed);
        match self.purpose {
            Purpose::Coverage => {
                if let Some(flow) = flow {
                    self.count(flow);
                }
            }
            Purpose::Trial => self.apart.extend(flow),
            Purpose::Lesson => {
                self.apart.extend(flow);
                self.teaching.observe(executed);
            }
        }
        None
    }
}

impl Teaching {
    fn observe(&mut self, executed: &Executed<'_>) {
        if self.needs.profile {
            self.profiler.observe(executed);
        }
        if self.needs.conflicts {
            self.conflicts.observe(executed);
        }
        if self.needs.splits {
            self.splits.observe(executed);
        }
        if self.needs.lock_orders {
            self.lock_orders.observe(executed);
        }
    }
}
