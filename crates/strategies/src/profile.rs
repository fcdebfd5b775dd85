//! How often each thread touches each shared location in a typical run: what uniform sampling weighs threads by.
//!
//! For selectively uniform sampling (`uniform.rs`).

use serde::{Deserialize, Serialize};
use unravel_trace::{Executed, Op, Pending, ThreadId, ThreadName, touches};

use crate::budgets::MOST_LOCATIONS;
use crate::by_address::ByAddress;

/// Counts of touches by thread and location. Addresses are the same in every run.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Profile {
    /// Sorted by address.
    pub locations: Vec<Location>,
}

/// A location that several threads touch, one of them writing.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Location {
    pub address: u64,
    /// Sorted by name.
    pub touches: Vec<(ThreadName, u32)>,
}

impl Profile {
    /// Takes the larger count of each.
    pub fn merge(&mut self, other: &Profile) {
        for theirs in &other.locations {
            match self.locations.binary_search_by_key(&theirs.address, |l| l.address) {
                Ok(at) => self.locations[at].merge(theirs),
                Err(at) => self.locations.insert(at, theirs.clone()),
            }
        }
        if self.locations.len() > MOST_LOCATIONS {
            self.locations.sort_by_key(|l| (std::cmp::Reverse(l.touches.len()), l.address));
            self.locations.truncate(MOST_LOCATIONS);
            self.locations.sort_by_key(|l| l.address);
        }
    }
}

impl Location {
    /// Whether this event touches it.
    pub fn is_touched_by(&self, pending: &Pending) -> bool {
        touches(pending).any(|touch| {
            touch.address <= self.address
                && self.address < touch.address.saturating_add(touch.bytes)
        })
    }

    fn merge(&mut self, other: &Location) {
        for (name, count) in &other.touches {
            match self.touches.binary_search_by_key(&name, |(n, _)| n) {
                Ok(at) => self.touches[at].1 = self.touches[at].1.max(*count),
                Err(at) => self.touches.insert(at, (name.clone(), *count)),
            }
        }
    }
}

/// How often a thread touches a location.
#[derive(Clone, Copy, Debug)]
struct Count {
    thread: ThreadId,
    touches: u32,
    /// Whether one of them writes.
    writes: bool,
}

/// Counts what one run touches.
#[derive(Clone, Debug, Default)]
pub struct Profiler {
    counts: ByAddress<Vec<Count>>,
}

impl Profiler {
    pub fn observe(&mut self, executed: &Executed<'_>) {
        let what = &executed.what;
        let counted = matches!(
            what.op,
            Op::Read
                | Op::Write
                | Op::Update
                | Op::Acquire
                | Op::AcquireShared
                | Op::Wait
                | Op::Signal
        );
        for touch in touches(what).filter(|_| counted) {
            let Executed { thread, .. } = *executed;
            let counts = self.counts.entry(touch.address);
            match counts.iter_mut().find(|count| count.thread == thread) {
                Some(count) => {
                    count.touches += 1;
                    count.writes |= touch.writes;
                }
                None => counts.push(Count { thread, touches: 1, writes: touch.writes }),
            }
        }
    }

    /// The profile of the run; what is left is ready for the next.
    pub fn finish(&mut self, names: &[ThreadName]) -> Profile {
        let mut profile = Profile::default();
        for (address, counts) in self.counts.sorted() {
            if counts.len() < 2 || !counts.iter().any(|count| count.writes) {
                continue;
            }
            let name = |count: &Count| names.get(count.thread.index()).cloned();
            let mut touches: Vec<(ThreadName, u32)> =
                counts.iter().filter_map(|count| Some((name(count)?, count.touches))).collect();
            touches.sort();
            profile.locations.push(Location { address, touches });
        }
        self.counts.clear();
        profile
    }
}
