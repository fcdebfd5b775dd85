//! What atomicity-directed search (AtomFuzzer) tries to split: two accesses of one thread, and a remote one that must not come between.
//!
//! Three accesses of one location are *unserialisable* if no order in which the pair stays together gives the same values
//! (Lu et al., AVIO, ASPLOS 2006): read–write–read, write–write–read, write–read–write, read–write–write. An atomic update
//! is both a read and a write, so that a load and the compare-exchange after it are such a pair, and what splits them is what
//! an ABA problem needs.
//!
//! Collected from the events of runs that teach. Left out is what a common lock forbids, and what lies far apart. Which pairs
//! are *meant* to be one nobody says: most splits do no harm. An acquisition that only tried, and failed, is taken for one
//! that succeeded; then a split may be left out.

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use unravel_trace::{Executed, Op, Role, SiteId, ThreadId, touches};

use crate::budgets::{MOST_SPLITS, MOST_SPLITS_OF_ONE, NEAR};
use crate::by_address::{ByAddress, Renew};
use crate::held::{Held, Lock};

/// Two accesses of one thread and what comes between, with where threads are to be held for it: just before the access, or, if it
/// is in a critical section, before that section.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Split {
    /// The first access.
    pub first: SiteId,
    /// Where the second begins.
    pub second: SiteId,
    /// Where the remote one begins.
    pub waits: SiteId,
    /// The remote one.
    pub remote: SiteId,
}

/// Splits that runs have shown to be possible.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Splits {
    /// Each once.
    all: Vec<Split>,
}

impl Splits {
    pub fn all(&self) -> &[Split] {
        &self.all
    }

    /// Adds what there is room for.
    pub fn merge(&mut self, other: &Splits) {
        for split in &other.all {
            if self.all.len() < MOST_SPLITS && !self.all.contains(split) {
                self.all.push(*split);
            }
        }
    }
}

impl FromIterator<Split> for Splits {
    fn from_iter<T: IntoIterator<Item = Split>>(splits: T) -> Splits {
        let mut all: Vec<Split> = splits.into_iter().collect();
        all.sort_unstable();
        all.dedup();
        Splits { all }
    }
}

/// What an access does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Kind {
    reads: bool,
    writes: bool,
}

/// Whether the second in between makes a difference to somebody.
fn is_unserialisable(first: Kind, remote: Kind, second: Kind) -> bool {
    let unrepeated = first.reads && remote.writes;
    let overwritten = first.writes && remote.writes && second.reads;
    let half_seen = first.writes && remote.reads && second.writes;
    unrepeated || overwritten || half_seen
}

/// An access of a thread, the last one to its location.
#[derive(Clone, Copy, Debug)]
struct Last {
    thread: ThreadId,
    site: SiteId,
    kind: Kind,
    number: u64,
    /// Events of its thread before it.
    at: u64,
    /// Locks that its thread had acquired.
    acquisitions: u64,
}

/// A list of locks, by its number in [`LockLists`]: most accesses of a run are made with one of a few.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct LockList(u32);

/// Lists of locks that were held together, each once.
#[derive(Clone, Debug, Default)]
struct LockLists {
    lists: Vec<Box<[u64]>>,
    numbers: FxHashMap<Box<[u64]>, LockList>,
    /// The last one asked for, by what it is asked for: what is held, and what was held throughout.
    recent: [Option<LockList>; 2],
}

/// What lists are asked for.
const HELD: usize = 0;
const THROUGHOUT: usize = 1;

impl LockLists {
    fn clear(&mut self) {
        self.lists.clear();
        self.numbers.clear();
        self.recent = [None; 2];
    }

    /// The number of a list, of which the last one that was asked for the same reason is most often another copy.
    fn number(&mut self, why: usize, locks: impl Iterator<Item = u64> + Clone) -> LockList {
        let is_same = |list: &LockList| self.of(*list).iter().copied().eq(locks.clone());
        if let Some(recent) = self.recent[why].filter(is_same) {
            return recent;
        }
        let list: Box<[u64]> = locks.collect();
        let next = LockList(self.lists.len() as u32);
        let number = *self.numbers.entry(list).or_insert_with_key(|list| {
            self.lists.push(list.clone());
            next
        });
        self.recent[why] = Some(number);
        number
    }

    fn of(&self, list: LockList) -> &[u64] {
        &self.lists[list.0 as usize]
    }

    fn have_one_in_common(&self, one: LockList, other: LockList) -> bool {
        self.of(one).iter().any(|lock| self.of(other).contains(lock))
    }
}

/// Two accesses that follow each other in their thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Pair {
    thread: ThreadId,
    first: (SiteId, Kind),
    second: (SiteId, Kind),
    /// Locks held from the first to the second.
    locks: LockList,
    /// Where the second is entered.
    enters: SiteId,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Remote {
    thread: ThreadId,
    site: SiteId,
    kind: Kind,
    locks: LockList,
    /// Where it is entered.
    enters: SiteId,
}

/// What was done to one location.
#[derive(Clone, Debug, Default)]
struct Place {
    last: Vec<Last>,
    pairs: Vec<Pair>,
    remotes: Vec<Remote>,
}

impl Renew for Place {
    fn renew(&mut self) {
        self.last.clear();
        self.pairs.clear();
        self.remotes.clear();
    }
}

/// Collects the splits of a run from its events.
#[derive(Clone, Debug, Default)]
pub struct SplitCollector {
    held: Held,
    /// By thread.
    events: Vec<u64>,
    locks: LockLists,
    places: ByAddress<Place>,
}

impl SplitCollector {
    pub fn observe(&mut self, executed: &Executed<'_>) {
        let Executed { thread, ref what, number, .. } = *executed;
        if self.events.len() <= thread.index() {
            self.events.resize(thread.index() + 1, 0);
        }
        self.events[thread.index()] += 1;
        self.held.observe(executed);
        let kind = match what.op {
            Op::Read => Kind { reads: true, writes: false },
            Op::Write | Op::Free => Kind { reads: false, writes: true },
            Op::Update => Kind { reads: true, writes: true },
            _ => return,
        };
        let data = touches(what).find(|touch| matches!(touch.role, Role::Data | Role::Free));
        let Some(touch) = data else { return };
        let held = self.held.of(thread);
        let last = Last {
            thread,
            site: what.site,
            kind,
            number,
            at: self.events[thread.index()],
            acquisitions: self.held.acquisitions(thread),
        };
        let place = self.places.entry(touch.address);
        let remote = Remote {
            thread,
            site: what.site,
            kind,
            locks: self.locks.number(HELD, held.iter().map(|lock| lock.address)),
            enters: held.first().map_or(what.site, |lock| lock.site),
        };
        push_new(&mut place.remotes, remote);
        let before = place.last.iter_mut().find(|last| last.thread == thread);
        let Some(before) = before else { return place.last.push(last) };
        let first = std::mem::replace(before, last);
        // What happens in one atomic section is not split.
        if first.number != number && last.at - first.at <= NEAR {
            let is_throughout = |lock: &&Lock| lock.number <= first.acquisitions;
            let throughout = held.iter().filter(is_throughout);
            let later = held.iter().find(|lock| !is_throughout(lock));
            let pair = Pair {
                thread,
                first: (first.site, first.kind),
                second: (last.site, kind),
                locks: self.locks.number(THROUGHOUT, throughout.map(|lock| lock.address)),
                enters: later.map_or(what.site, |lock| lock.site),
            };
            push_new(&mut place.pairs, pair);
        }
    }

    /// What the run had; ready for the next.
    pub fn finish(&mut self) -> Splits {
        let places = self.places.sorted();
        let splits = places.iter().flat_map(|(_, place)| place.splits(&self.locks)).collect();
        self.places.clear();
        self.held.clear();
        self.events.clear();
        self.locks.clear();
        splits
    }
}

impl Place {
    fn splits<'a>(&'a self, locks: &'a LockLists) -> impl Iterator<Item = Split> + use<'a> {
        let between = move |pair: &'_ Pair, remote: &Remote| {
            let apart = locks.have_one_in_common(remote.locks, pair.locks);
            remote.thread != pair.thread
                && !apart
                && is_unserialisable(pair.first.1, remote.kind, pair.second.1)
        };
        let splits = self.pairs.iter().flat_map(move |pair| {
            let remotes = self.remotes.iter().filter(move |remote| between(pair, remote));
            let split = |remote: &Remote| Split {
                first: pair.first.0,
                second: pair.enters,
                waits: remote.enters,
                remote: remote.site,
            };
            remotes.map(split).collect::<Vec<_>>()
        });
        splits.take(MOST_SPLITS_OF_ONE)
    }
}

fn push_new<T: PartialEq>(list: &mut Vec<T>, item: T) {
    if list.len() < MOST_SPLITS_OF_ONE && !list.contains(&item) {
        list.push(item);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use unravel_trace::{Operand, Pending};

    fn collect(events: &[(u32, Op, u64, u32)]) -> Vec<(u32, u32, u32)> {
        let mut collector = SplitCollector::default();
        for (number, (thread, op, address, site)) in events.iter().enumerate() {
            let what = Pending {
                op: *op,
                address: *address,
                bytes: 4,
                site: SiteId(*site),
                caller: None,
                operand: Operand::None,
                atomic: false,
            };
            let thread = ThreadId(*thread);
            collector.observe(&Executed {
                number: number as u64,
                thread,
                what,
                repeats: false,
                names: &[],
            });
        }
        let triple = |split: &Split| (split.first.0, split.second.0, split.remote.0);
        collector.finish().all().iter().map(triple).collect()
    }

    const X: u64 = 64;
    const LOCK: u64 = 128;

    #[test]
    fn a_read_and_a_write_may_be_split_by_a_write() {
        let events = [(1, Op::Read, X, 1), (1, Op::Write, X, 2), (2, Op::Write, X, 3)];
        assert_eq!(collect(&events), [(1, 2, 3)]);
        let reads = [(1, Op::Read, X, 1), (1, Op::Write, X, 2), (2, Op::Read, X, 3)];
        assert_eq!(collect(&reads), [], "a read between a read and a write is as if before both");
    }

    #[test]
    fn a_load_and_its_exchange_may_be_split_by_an_exchange() {
        let one = [(1, Op::Read, X, 1), (1, Op::Update, X, 2)];
        let both = [one, one.map(|(_, op, at, site)| (2, op, at, site))].concat();
        assert_eq!(collect(&both), [(1, 2, 2)]);
    }

    #[test]
    fn one_lock_around_all_three_forbids_it_and_two_sections_do_not() {
        // Where sections begin is where threads are to be held.
        let remote = [(2, Op::Acquire, LOCK, 8), (2, Op::Write, X, 3), (2, Op::Release, LOCK, 9)];
        let whole = [
            (1, Op::Acquire, LOCK, 6),
            (1, Op::Read, X, 1),
            (1, Op::Write, X, 2),
            (1, Op::Release, LOCK, 7),
        ];
        assert_eq!(collect(&[&whole[..], &remote].concat()), []);
        let apart = [
            (1, Op::Acquire, LOCK, 6),
            (1, Op::Read, X, 1),
            (1, Op::Release, LOCK, 7),
            (1, Op::Acquire, LOCK, 6),
            (1, Op::Write, X, 2),
            (1, Op::Release, LOCK, 7),
        ];
        assert_eq!(collect(&[&apart[..], &remote].concat()), [(1, 6, 3)]);
    }

    #[test]
    fn other_locations_and_accesses_far_apart_do_not_count() {
        let mut events = vec![(1, Op::Read, X, 1)];
        events.extend((0..=NEAR).map(|_| (1, Op::Read, 1024, 5)));
        events.extend([(1, Op::Write, X, 2), (2, Op::Write, X, 3), (2, Op::Write, 512, 4)]);
        assert_eq!(collect(&events), []);
    }
}
