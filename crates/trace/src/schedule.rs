//! Decisions: which thread ran when, and the other choices a run depends on.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::{SiteId, ThreadName};

/// The decisions that make a run what it is.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Schedule {
    /// Names of the threads that `segments` refer to by index.
    pub threads: Vec<ThreadName>,
    pub segments: Vec<Segment>,
    /// Answers to the questions that are not "which thread": which waiter a signal wakes, whether a
    /// timeout fires; in the order they were asked.
    pub choices: Vec<u32>,
    /// The sites whose accesses count as events; without it the counts mean nothing.
    pub visible: VisibleSet,
}

/// A thread execution interval: `events` visible events of one thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Segment {
    /// Index into [`Schedule::threads`].
    pub thread: u32,
    pub events: u32,
}

impl Schedule {
    /// The decisions that execute an order of events: whose each is, as an index into `threads`. The one place where an
    /// order becomes a schedule.
    pub fn of_turns(
        threads: Vec<ThreadName>,
        turns: impl IntoIterator<Item = u32>,
        choices: Vec<u32>,
        visible: VisibleSet,
    ) -> Schedule {
        let mut segments: Vec<Segment> = Vec::new();
        for thread in turns {
            match segments.last_mut() {
                Some(last) if last.thread == thread => last.events += 1,
                _ => segments.push(Segment { thread, events: 1 }),
            }
        }
        Schedule { threads, segments, choices, visible }
    }

    pub fn events(&self) -> u64 {
        self.segments.iter().map(|s| u64::from(s.events)).sum()
    }

    pub fn context_switches(&self) -> usize {
        self.segments.len().saturating_sub(1)
    }
}

/// The sites whose memory accesses are events. Sync operations always are.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct VisibleSet {
    /// Shared, because every schedule carries the set that it counts by.
    bits: Arc<Vec<u64>>,
}

impl VisibleSet {
    #[inline]
    pub fn contains(&self, site: SiteId) -> bool {
        self.bits.get(site.index() / 64).is_some_and(|w| w >> (site.0 % 64) & 1 == 1)
    }

    /// Adds a site; true if it was not there.
    pub fn insert(&mut self, site: SiteId) -> bool {
        let word = site.index() / 64;
        let bit = 1 << (site.0 % 64);
        if self.bits.get(word).is_some_and(|bits| bits & bit != 0) {
            return false;
        }
        let bits = Arc::make_mut(&mut self.bits);
        if word >= bits.len() {
            bits.resize(word + 1, 0);
        }
        bits[word] |= bit;
        true
    }

    /// Adds all of `other`; true if anything was new.
    pub fn merge(&mut self, other: &VisibleSet) -> bool {
        let mut grew = false;
        for site in other.iter() {
            grew |= self.insert(site);
        }
        grew
    }

    /// Whether both have the same sites.
    pub fn is_same(&self, other: &VisibleSet) -> bool {
        self.without(other).is_empty() && other.without(self).is_empty()
    }

    /// The sites that are not in `other`.
    pub fn without(&self, other: &VisibleSet) -> VisibleSet {
        let theirs = other.bits.iter().copied().chain(std::iter::repeat(0));
        let bits = self.bits.iter().zip(theirs).map(|(a, b)| a & !b).collect();
        VisibleSet { bits: Arc::new(bits) }
    }

    pub fn iter(&self) -> impl Iterator<Item = SiteId> + '_ {
        self.bits.iter().enumerate().flat_map(|(i, &word)| {
            (0..64).filter(move |b| word >> b & 1 == 1).map(move |b| SiteId(i as u32 * 64 + b))
        })
    }

    pub fn len(&self) -> usize {
        self.bits.iter().map(|w| w.count_ones() as usize).sum()
    }

    pub fn is_empty(&self) -> bool {
        self.bits.iter().all(|w| *w == 0)
    }
}
