//! What race-directed search brings together: pairs of sites that race, or that contend for a lock.
//!
//! Sen (PLDI 2008) takes pairs that may race; Thrille takes pairs that acquire the same lock as well, whose order decides most
//! deadlocks and atomicity violations. Of locks, every two acquisitions by different threads count, even where
//! something else orders them: such a pair costs a few schedules. Pairs are collected without ending the run.

use std::collections::BTreeSet;

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use unravel_trace::{Executed, Op, SiteId, ThreadId};

use super::Detector;

/// Pairs of sites that may be worth bringing together.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Conflicts {
    /// Sorted, each once, the smaller site first.
    pairs: Vec<(SiteId, SiteId)>,
}

impl Conflicts {
    pub fn pairs(&self) -> &[(SiteId, SiteId)] {
        &self.pairs
    }

    pub fn merge(&mut self, other: &Conflicts) {
        self.pairs.extend(&other.pairs);
        self.pairs.sort_unstable();
        self.pairs.dedup();
    }
}

/// Collects the conflicts of a run from its events.
#[derive(Clone, Debug, Default)]
pub struct Collector {
    detector: Detector,
    /// By lock: where it was acquired, and by whom.
    acquired: FxHashMap<u64, Vec<(SiteId, ThreadId)>>,
    pairs: BTreeSet<(SiteId, SiteId)>,
}

impl Collector {
    /// Makes it the collector of a new run, keeping its memory.
    pub fn clear(&mut self) {
        self.detector.clear();
        self.acquired.clear();
        self.pairs.clear();
    }

    pub fn observe(&mut self, executed: &Executed<'_>) {
        let Executed { thread, ref what, .. } = *executed;
        let pairs = &mut self.pairs;
        let mut add = |a: SiteId, b: SiteId| {
            pairs.insert((a.min(b), a.max(b)));
        };
        self.detector.each_race(executed, |race| add(race.what.site, what.site));
        if !matches!(what.op, Op::Acquire | Op::AcquireShared) {
            return;
        }
        // Who wakes on a condition variable acquires its mutex.
        let lock = if what.other != 0 { what.other } else { what.address };
        let acquired = self.acquired.entry(lock).or_default();
        for (site, _) in acquired.iter().filter(|(_, by)| *by != thread) {
            add(*site, what.site);
        }
        if !acquired.contains(&(what.site, thread)) {
            acquired.push((what.site, thread));
        }
    }

    /// What the run had.
    pub fn finish(self) -> Conflicts {
        Conflicts { pairs: self.pairs.into_iter().collect() }
    }
}
