//! What race-directed search brings together: pairs of sites that race, or that contend for a lock or an atomic location.
//!
//! Sen (PLDI 2008) takes pairs that may race; Thrille takes pairs that acquire the same lock as well, whose order decides most
//! deadlocks and atomicity violations; in programs without locks, atomic operations have their part. Of those, every two by
//! different threads count that do not both only read, even where something else orders them: such a pair costs a
//! few schedules. Pairs are collected without ending the run.

use std::collections::BTreeSet;

use rustc_hash::FxHashMap;
use unravel_strategies::Conflicts;
use unravel_trace::{Alarm, Executed, Observer, Observes, Op, SiteId, ThreadId};

use super::Detector;

/// Where a lock was acquired or an atomic location accessed, and by whom.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Contender {
    site: SiteId,
    thread: ThreadId,
    writes: bool,
}

/// Collects the conflicts of a run from its events.
#[derive(Clone, Debug, Default)]
pub struct Collector {
    detector: Detector,
    /// By lock or atomic location.
    contenders: FxHashMap<u64, Vec<Contender>>,
    pairs: BTreeSet<(SiteId, SiteId)>,
}

impl Observer for Collector {
    fn observes(&self) -> Observes {
        Observes::Events
    }

    fn observe(&mut self, executed: &Executed<'_>) -> Option<Alarm> {
        self.take(executed);
        None
    }
}

impl Collector {
    fn take(&mut self, executed: &Executed<'_>) {
        let Executed { thread, ref what, .. } = *executed;
        let pairs = &mut self.pairs;
        let mut add = |a: SiteId, b: SiteId| {
            pairs.insert((a.min(b), a.max(b)));
        };
        self.detector.each_race(executed, |race| add(race.what.site, what.site));
        let writes = match what.op {
            Op::Acquire => true,
            Op::AcquireShared => false,
            Op::Read | Op::Write | Op::Update if what.atomic => what.op != Op::Read,
            _ => return,
        };
        // Who wakes on a condition variable acquires its mutex.
        let object = what.mutex().unwrap_or(what.address);
        let me = Contender { site: what.site, thread, writes };
        let others = self.contenders.entry(object).or_default();
        for other in others.iter().filter(|other| other.thread != thread) {
            if other.writes || writes {
                add(other.site, me.site);
            }
        }
        if !others.contains(&me) {
            others.push(me);
        }
    }

    /// What the run had; ready for the next, with its memory.
    pub fn finish(&mut self) -> Conflicts {
        self.detector.clear();
        self.contenders.clear();
        std::mem::take(&mut self.pairs).into_iter().collect()
    }
}
