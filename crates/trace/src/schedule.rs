//! Decisions: which thread ran when, and the other choices a run depends on.

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
    bits: Vec<u64>,
}

impl VisibleSet {
    pub fn contains(&self, site: SiteId) -> bool {
        self.bits.get(site.index() / 64).is_some_and(|w| w >> (site.0 % 64) & 1 == 1)
    }

    /// Adds a site; true if it was not there.
    pub fn insert(&mut self, site: SiteId) -> bool {
        let word = site.index() / 64;
        if word >= self.bits.len() {
            self.bits.resize(word + 1, 0);
        }
        let bit = 1 << (site.0 % 64);
        let new = self.bits[word] & bit == 0;
        self.bits[word] |= bit;
        new
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
        VisibleSet { bits: self.bits.iter().zip(theirs).map(|(a, b)| a & !b).collect() }
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
