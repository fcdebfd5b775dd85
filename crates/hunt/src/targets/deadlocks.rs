//! Deadlocks that a combination could run into.
//!
//! Cycles of locks, after the lock-order graphs of deadlock predictors (Goodlock): each thread holds what the next wants, and
//! no two of them hold a lock in common that would keep them apart. And waits: a thread that waits for a signal or a
//! semaphore may do so when the signal has gone.

use rustc_hash::{FxHashMap, FxHashSet};
use unravel_trace::{Bug, Combined, EventKind, LocationId, Request, SiteId, ThreadId, Wants};

use super::{Aim, Target};
use crate::budgets::{MOST_ALIKE, MOST_CHAINS, MOST_CYCLES, MOST_WAITS};
use crate::cut::Failing;

/// A lock that is wanted while others are held.
#[derive(Clone, Debug)]
struct Wanted {
    thread: ThreadId,
    site: SiteId,
    lock: LocationId,
    shared: bool,
    /// The event before it in its thread.
    before: Option<u32>,
    held: Vec<Held>,
}

/// A lock that is held, shared or not.
type Held = (LocationId, bool);

/// The targets, and how many were left out.
pub fn deadlocks(combined: &Combined) -> (Vec<Target>, u64) {
    let mut watch = Watch::default();
    for (index, event) in combined.trace.events.iter().enumerate() {
        watch.see(index as u32, event.thread, event.site, &event.kind);
    }
    let mut search = Cycles {
        wanted: &watch.wanted,
        found: Vec::new(),
        alike: FxHashMap::default(),
        chains: 0,
        left_out: 0,
    };
    let mut known: FxHashSet<Vec<usize>> = FxHashSet::default();
    for first in 0..watch.wanted.len() {
        search.extend(&mut vec![first], &mut known);
    }
    let Cycles { found: mut targets, left_out, .. } = search;
    targets.extend(watch.waits);
    (targets, left_out + watch.left_out)
}

/// Goes through the events, thread by thread interleaved: only the order within a thread matters.
#[derive(Default)]
struct Watch {
    held: FxHashMap<ThreadId, Vec<Held>>,
    last: FxHashMap<ThreadId, u32>,
    wanted: Vec<Wanted>,
    waits: Vec<Target>,
    seen: FxHashMap<(ThreadId, SiteId), usize>,
    left_out: u64,
}

impl Watch {
    fn see(&mut self, index: u32, thread: ThreadId, site: SiteId, kind: &EventKind) {
        let before = self.last.insert(thread, index);
        match *kind {
            EventKind::Lock { at, shared } => {
                let held = self.held.entry(thread).or_default();
                if !held.is_empty() && !held.iter().any(|(lock, _)| *lock == at) {
                    let held = held.clone();
                    self.wanted.push(Wanted { thread, site, lock: at, shared, before, held });
                }
                self.held.entry(thread).or_default().push((at, shared));
            }
            EventKind::TryLock { at, acquired: true, shared } => {
                self.held.entry(thread).or_default().push((at, shared));
            }
            EventKind::Unlock { at } => self.release(thread, at),
            EventKind::Wait { at, mutex } => {
                self.release(thread, mutex);
                self.wait(thread, site, Some(index), Wants::Wake { at, mutex });
            }
            EventKind::Wake { mutex, .. } => {
                self.held.entry(thread).or_default().push((mutex, false));
            }
            EventKind::SemWait { at } => self.wait(thread, site, before, Wants::Semaphore { at }),
            _ => {}
        }
    }

    fn release(&mut self, thread: ThreadId, lock: LocationId) {
        let held = self.held.entry(thread).or_default();
        if let Some(at) = held.iter().rposition(|(other, _)| *other == lock) {
            held.remove(at);
        }
    }

    fn wait(&mut self, thread: ThreadId, site: SiteId, last: Option<u32>, wants: Wants) {
        let count = self.seen.entry((thread, site)).or_default();
        *count += 1;
        if *count <= MOST_WAITS {
            let requests = vec![Request { thread, site, wants }];
            let failing = Failing {
                last: vec![(thread, last)],
                from_condition: None,
                other_answer: None,
                relaxed: false,
                bug: Bug::Deadlock { requests },
            };
            let aim = Aim::Forgotten;
            self.waits.push(Target { aim, thread, site, later: 0, failing });
        } else {
            self.left_out += 1;
        }
    }
}

struct Cycles<'a> {
    wanted: &'a [Wanted],
    found: Vec<Target>,
    alike: FxHashMap<Vec<(ThreadId, SiteId)>, usize>,
    chains: u64,
    left_out: u64,
}

impl Cycles<'_> {
    /// Each wants what the next holds; the first is the smallest, so that each cycle is found once.
    fn extend(&mut self, chain: &mut Vec<usize>, known: &mut FxHashSet<Vec<usize>>) {
        self.chains += 1;
        if self.found.len() >= MOST_CYCLES || self.chains > MOST_CHAINS {
            self.left_out += 1;
            return;
        }
        let last = &self.wanted[chain[chain.len() - 1]];
        let closes = blocks(&self.wanted[chain[0]], last);
        if chain.len() > 1 && closes {
            let mut members = chain.clone();
            members.sort_unstable();
            if known.insert(members) {
                self.add(chain);
            }
            return;
        }
        for next in chain[0] + 1..self.wanted.len() {
            let candidate = &self.wanted[next];
            let fits = blocks(candidate, last)
                && chain.iter().all(|other| apart(&self.wanted[*other], candidate));
            if fits {
                chain.push(next);
                self.extend(chain, known);
                chain.pop();
            }
        }
    }

    fn add(&mut self, chain: &[usize]) {
        let members: Vec<&Wanted> = chain.iter().map(|index| &self.wanted[*index]).collect();
        let mut places: Vec<_> = members.iter().map(|w| (w.thread, w.site)).collect();
        places.sort_unstable();
        let alike = self.alike.entry(places).or_default();
        *alike += 1;
        if *alike > MOST_ALIKE {
            self.left_out += 1;
            return;
        }
        let request = |wanted: &&Wanted| Request {
            thread: wanted.thread,
            site: wanted.site,
            wants: Wants::Lock { at: wanted.lock, shared: wanted.shared },
        };
        let failing = Failing {
            last: members.iter().map(|wanted| (wanted.thread, wanted.before)).collect(),
            from_condition: None,
            other_answer: None,
            relaxed: false,
            bug: Bug::Deadlock { requests: members.iter().map(request).collect() },
        };
        let (thread, site) = (members[0].thread, members[0].site);
        let aim = Aim::Deadlock;
        self.found.push(Target { aim, thread, site, later: 0, failing });
    }
}

/// Whether one holds what the other wants. Those who only read do not exclude each other.
fn blocks(holder: &Wanted, wants: &Wanted) -> bool {
    holder.held.iter().any(|(lock, shared)| *lock == wants.lock && !(*shared && wants.shared))
}

/// Two threads that can hold all they hold at the same time.
fn apart(a: &Wanted, b: &Wanted) -> bool {
    let excludes = |(lock, shared): &Held| {
        b.held.iter().any(|(other, other_shared)| other == lock && !(*shared && *other_shared))
    };
    a.thread != b.thread && !a.held.iter().any(excludes)
}

#[cfg(test)]
mod tests {
    use unravel_trace::{Event, Symbolic, Trace};

    use super::*;

    /// Threads that lock and unlock: who, and which lock; negative to unlock.
    fn targets(events: &[(u32, i32)]) -> Vec<Target> {
        let event = |(thread, lock): &(u32, i32)| {
            let at = LocationId(lock.unsigned_abs());
            let kind = match *lock > 0 {
                true => EventKind::Lock { at, shared: false },
                false => EventKind::Unlock { at },
            };
            let site = SiteId(thread * 10 + lock.unsigned_abs());
            Event { thread: ThreadId(*thread), site, caller: None, kind }
        };
        let trace = Trace { events: events.iter().map(event).collect(), ..Trace::default() };
        let symbolic = Symbolic::default();
        let combined =
            Combined { trace, symbolic, unscheduled: Vec::new(), conditions: Vec::new() };
        deadlocks(&combined).0
    }

    /// The threads of each cycle.
    fn cycles(events: &[(u32, i32)]) -> Vec<Vec<u32>> {
        let threads = |target: &Target| {
            let mut threads: Vec<u32> =
                target.failing.last.iter().map(|(thread, _)| thread.0).collect();
            threads.sort_unstable();
            threads
        };
        targets(events).iter().map(threads).collect()
    }

    #[test]
    fn two_threads_that_take_two_locks_in_opposite_orders_are_a_cycle() {
        let opposite = [(1, 1), (1, 2), (1, -2), (1, -1), (2, 2), (2, 1), (2, -1), (2, -2)];
        assert_eq!(cycles(&opposite), [[1, 2]]);
        let same = [(1, 1), (1, 2), (1, -2), (1, -1), (2, 1), (2, 2), (2, -2), (2, -1)];
        assert!(cycles(&same).is_empty());
    }

    #[test]
    fn a_lock_around_both_keeps_them_apart() {
        let gated = [(1, 3), (1, 1), (1, 2), (1, -2), (1, -1), (1, -3)];
        let other = [(2, 3), (2, 2), (2, 1), (2, -1), (2, -2), (2, -3)];
        assert!(cycles(&[gated, other].concat()).is_empty());
    }

    #[test]
    fn five_philosophers_are_one_cycle() {
        let mut events = Vec::new();
        for thread in 0..5i32 {
            let (left, right) = (thread + 1, (thread + 1) % 5 + 1);
            let own = [left, right, -right, -left];
            events.extend(own.map(|lock| (thread as u32 + 1, lock)));
        }
        assert_eq!(cycles(&events), [[1, 2, 3, 4, 5]]);
    }
}
