//! What runs that strayed teach all later ones (for the schedule that Symbiosis, §3.3, asks a solver for): the thread read what some
//! write had left there, and left its path for it; so it waits from now on until another write has come.
//!
//! A thread on its path makes the same events in every run, so that an event is named by its thread and number, and what is in a
//! place by the write that came last, and how many there were. If the thread holds a lock when it reads, it waits before it takes the lock: nobody else could
//! write meanwhile. After nogood learning of constraint solvers, one assignment at a time.
//!
//! *Not exact*: another read may have decided, and the same write may leave another value in another run. So a lesson is advice: it
//! gives way if nobody else can go on, and every run ignores some of them by chance.

use rustc_hash::FxHashMap;
use unravel_trace::{Op, Rng};

use crate::budgets::{DOUBTED, MOST_LESSONS};
use crate::steer::{Nth, Seen};

/// All lessons so far, by the event that waits.
#[derive(Debug, Default)]
pub(crate) struct Lessons {
    waits: FxHashMap<Nth, Vec<Lesson>>,
}

/// Not while this write is the last one there, and there were so many; `None`: while nobody has written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Lesson {
    address: u64,
    last: Option<(Nth, u32)>,
}

impl Lessons {
    /// Learns from a run in which a thread strayed after what is seen of it.
    pub fn learn(&mut self, seen: &[Seen], who: u32) {
        let mine = |one: &Seen| one.by.leg == who;
        let read = seen.iter().rposition(|one| mine(one) && one.is_access() && one.reads());
        let Some(at) = read else { return };
        let read = seen[at];
        let touching = |one: &&Seen| one.is_access() && one.writes() && one.address == read.address;
        let last = seen[..at].iter().rev().find(touching).map(|one| one.by);
        let count = seen[..at].iter().filter(touching).count() as u32;
        let last = last.map(|last| (last, count));
        let waits = self.waits.entry(outermost(&seen[..at], who).unwrap_or(read.by)).or_default();
        let lesson = Lesson { address: read.address, last };
        if waits.len() < MOST_LESSONS && !waits.contains(&lesson) {
            waits.push(lesson);
        }
    }

    /// Whether an event had better wait. `written` is the last write to an address, and how many there were; `doubt` says which lessons this run ignores.
    pub fn hold(
        &self,
        event: Nth,
        written: &FxHashMap<u64, (Nth, u32)>,
        doubt: Option<u64>,
    ) -> bool {
        let Some(waits) = self.waits.get(&event) else { return false };
        waits.iter().enumerate().any(|(number, lesson)| {
            let key = u64::from(event.leg) << 40 | u64::from(event.own) << 8 | number as u64;
            let doubted = doubt.is_some_and(|seed| Rng::derive(seed, key).is_multiple_of(DOUBTED));
            !doubted && written.get(&lesson.address).copied() == lesson.last
        })
    }
}

/// Where a thread took the first of the locks that it holds.
fn outermost(seen: &[Seen], who: u32) -> Option<Nth> {
    let mut held: Vec<(u64, Nth)> = Vec::new();
    for one in seen.iter().filter(|one| one.by.leg == who) {
        match one.op {
            Op::Acquire | Op::AcquireShared => held.push((one.lock, one.by)),
            Op::Release | Op::Wait => {
                if let Some(place) = held.iter().rposition(|(lock, _)| *lock == one.lock) {
                    held.remove(place);
                }
            }
            _ => {}
        }
    }
    held.first().map(|(_, by)| *by)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(leg: u32, own: u32, op: Op, address: u64) -> Seen {
        Seen { by: Nth { leg, own }, op, address, bytes: 4, lock: address }
    }

    #[test]
    fn a_thread_waits_before_its_lock_until_another_write_came() {
        let run = [seen(1, 1, Op::Write, 8), seen(2, 1, Op::Acquire, 64), seen(2, 2, Op::Read, 8)];
        let mut lessons = Lessons::default();
        lessons.learn(&run, 2);
        let after = |leg, own| FxHashMap::from_iter([(8, (Nth { leg, own }, 1))]);
        let takes = Nth { leg: 2, own: 1 };
        assert!(lessons.hold(takes, &after(1, 1), None));
        assert!(!lessons.hold(takes, &after(1, 2), None));
        assert!(!lessons.hold(
            takes,
            &FxHashMap::from_iter([(8, (Nth { leg: 1, own: 1 }, 2))]),
            None
        ));
        assert!(!lessons.hold(takes, &FxHashMap::default(), None));
        assert!(!lessons.hold(Nth { leg: 2, own: 2 }, &after(1, 1), None));
    }

    #[test]
    fn a_lock_that_was_given_back_is_not_waited_for() {
        let run =
            [seen(2, 1, Op::Acquire, 64), seen(2, 2, Op::Release, 64), seen(2, 3, Op::Read, 8)];
        let mut lessons = Lessons::default();
        lessons.learn(&run, 2);
        assert!(lessons.hold(Nth { leg: 2, own: 3 }, &FxHashMap::default(), None));
        assert!(!lessons.hold(Nth { leg: 2, own: 1 }, &FxHashMap::default(), None));
    }
}
