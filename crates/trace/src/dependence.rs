//! When the order of two events can matter: the dependence relation of partial-order methods (Mazurkiewicz).
//!
//! Two events of different threads depend on each other if they touch the same bytes and not both only read them. Sync
//! operations write their object (taking a lock for reading reads it); what a thread is created, ended and joined with is
//! a byte of its own; library calls with effects outside memory share one; the end of the process depends on everything.

use crate::{Op, Pending};

/// Bytes that an event touches.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Touch {
    pub address: u64,
    pub bytes: u64,
    pub writes: bool,
}

/// Above every address of a process: a byte a thread.
const THREADS: u64 = 1 << 62;
/// What library functions do to the world.
const OUTSIDE: u64 = 1 << 63;

/// What an event touches, two ranges at most.
pub fn touches(event: &Pending) -> impl Iterator<Item = Touch> + use<> {
    let own =
        |writes| Touch { address: event.address, bytes: u64::from(event.bytes.max(1)), writes };
    let thread = Touch { address: THREADS + event.other, bytes: 1, writes: true };
    let mutex =
        || (event.other != 0).then_some(Touch { address: event.other, bytes: 1, writes: true });
    let (first, second) = match event.op {
        Op::Read | Op::AcquireShared => (Some(own(false)), None),
        Op::Write | Op::Update | Op::Free | Op::Release | Op::Signal => (Some(own(true)), None),
        Op::Acquire | Op::Wait => (Some(own(true)), mutex()),
        Op::Fork | Op::Start | Op::Exit | Op::Join | Op::Cancel => (Some(thread), None),
        Op::External => (Some(Touch { address: OUTSIDE, bytes: 1, writes: true }), None),
        Op::End | Op::Alloc | Op::Fence | Op::Yield => (None, None),
    };
    first.filter(|touch| touch.address != 0).into_iter().chain(second)
}

impl Touch {
    pub fn conflicts(&self, other: &Touch) -> bool {
        (self.writes || other.writes)
            && self.address < other.address.saturating_add(other.bytes)
            && other.address < self.address.saturating_add(self.bytes)
    }
}

/// Whether two events of different threads depend on each other.
pub fn depend(a: &Pending, b: &Pending) -> bool {
    if a.op == Op::End || b.op == Op::End {
        return true;
    }
    touches(a).any(|x| touches(b).any(|y| x.conflicts(&y)))
}

#[cfg(test)]
mod tests {
    use crate::SiteId;

    use super::*;

    fn event(op: Op, address: u64, bytes: u32, other: u64) -> Pending {
        Pending { op, address, bytes, site: SiteId(0), other, atomic: false }
    }

    #[test]
    fn only_reads_of_the_same_bytes_commute() {
        let (read, write) = (event(Op::Read, 100, 4, 0), event(Op::Write, 102, 4, 0));
        assert!(depend(&read, &write) && depend(&write, &write));
        assert!(!depend(&read, &read));
        assert!(!depend(&read, &event(Op::Write, 104, 4, 0)));
    }

    #[test]
    fn waits_and_wakes_touch_their_mutex_too() {
        let wait = event(Op::Wait, 800, 48, 400);
        assert!(depend(&wait, &event(Op::Acquire, 400, 40, 0)));
        assert!(depend(&wait, &event(Op::Signal, 800, 48, 0)));
        assert!(!depend(&event(Op::Acquire, 400, 40, 0), &event(Op::Signal, 800, 48, 0)));
    }

    #[test]
    fn threads_depend_on_their_own_life_and_all_on_the_end() {
        assert!(depend(&event(Op::Exit, 0, 0, 2), &event(Op::Join, 0, 0, 2)));
        assert!(!depend(&event(Op::Exit, 0, 0, 1), &event(Op::Join, 0, 0, 2)));
        assert!(depend(&event(Op::End, 0, 0, 0), &event(Op::Read, 100, 4, 0)));
    }
}
