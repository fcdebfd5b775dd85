//! When the order of two events can matter.
//!
//! Two relations, both over what events touch. *Dependence* is that of partial-order methods (Mazurkiewicz): two events of
//! different threads depend on each other if they touch the same bytes and not both only read them. Sync operations write
//! their object, which is one thing wherever it is touched (taking a lock for reading reads it); what a thread is created,
//! ended and joined with is a byte of its own; library calls with effects outside memory share one; operations on what is
//! behind descriptors share another, besides their own object, because `poll` may look at all of it; the end of the process
//! depends on everything.
//!
//! An event is what it did, not what it might have done: a compare-exchange that found another value only read. Whether it
//! does depends on the order, as everything does that is read; what made it so is a write, and depends on it.
//! Two updates that leave the same in either order, and return what nobody uses, do not depend on each other ([`Commuting`]);
//! nor do two that arrive for the same meeting at a barrier, if neither looks who was the last, nor who leaves it and others
//! that leave or arrive for a later one.
//!
//! *Whether an order tells anything* ([`Touch::tells_with`]) is narrower: of two dependent events the order
//! says something to a reader, or to a search for a cause, if it decides what is read or who goes on. Two releases of one
//! lock come in some order, which nobody could have wished otherwise.
//!
//! The model of a recorded run has a relation of its own over cells and sync objects (`solve::model`), because it also orders
//! what was not executed so.

use crate::{Commuting, Meeting, Op, Operand, Pending};

/// Bytes that an event touches, and as what.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Touch {
    pub address: u64,
    pub bytes: u64,
    pub writes: bool,
    pub role: Role,
}

/// What an event does with what it touches.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Role {
    /// Accesses memory.
    Data,
    /// Updates memory, and looks at nothing.
    Blind(Commuting),
    /// Frees a heap object.
    Free,
    Acquire,
    AcquireShared,
    Release,
    /// Begins to wait on a condition variable or at a barrier.
    Wait,
    /// Goes on after that.
    Wake,
    /// Arrives for a meeting at a barrier, and leaves it.
    Arrive(Meeting),
    Leave(Meeting),
    Signal,
    /// Creates, begins, ends, joins or cancels a thread.
    Life,
    /// Is seen by the world outside.
    Outside,
}

/// Above every address of a process: a byte a thread.
const THREADS: u64 = 1 << 62;
/// What `poll` and its kin look at: all that is behind descriptors.
const WATCHED: u64 = (1 << 63) - 16;
/// What library functions do to the world.
const OUTSIDE: u64 = 1 << 63;

/// What an event touches, two ranges at most.
#[inline]
pub fn touches(event: &Pending) -> impl Iterator<Item = Touch> + use<> {
    let (first, second) = touched(event);
    first.into_iter().chain(second)
}

/// The same as a pair: searches ask it of every event.
#[inline]
pub fn touched(event: &Pending) -> (Option<Touch>, Option<Touch>) {
    let Pending { op, address, .. } = *event;
    let one = |bytes, writes, role| {
        ((address != 0).then_some(Touch { address, bytes, writes, role }), None)
    };
    let memory = |writes, role| one(u64::from(event.bytes.max(1)), writes, role);
    let mutex = |address, role| Some(Touch { address, bytes: 1, writes: true, role });
    match (op, event.operand) {
        (Op::Read, _) => memory(false, Role::Data),
        (Op::Update, Operand::Refused) => memory(false, Role::Data),
        (Op::Update, Operand::Blind(kind)) => memory(true, Role::Blind(kind)),
        (Op::Write | Op::Update, _) => memory(true, Role::Data),
        (Op::Free, _) => memory(true, Role::Free),
        // What is behind a descriptor; who looks at several of them has no address.
        (Op::Acquire | Op::Release, Operand::Watched) => {
            let (role, looks) = match op {
                Op::Acquire => (Role::Acquire, address == 0),
                _ => (Role::Release, false),
            };
            let all = Touch { address: WATCHED, bytes: 1, writes: !looks, role: Role::Outside };
            (one(1, true, role).0, Some(all))
        }
        // The second half of a condition wait takes the mutex again.
        (Op::Acquire, Operand::Mutex(taken)) => {
            (one(1, true, Role::Wake).0, mutex(taken, Role::Acquire))
        }
        (Op::Acquire, Operand::Meeting(meeting)) => one(1, true, Role::Leave(meeting)),
        (Op::Acquire, _) => one(1, true, Role::Acquire),
        (Op::AcquireShared, _) => one(1, false, Role::AcquireShared),
        (Op::Release, _) => one(1, true, Role::Release),
        (Op::Wait, Operand::Mutex(given)) => {
            (one(1, true, Role::Wait).0, mutex(given, Role::Release))
        }
        (Op::Wait, Operand::Meeting(meeting)) => one(1, true, Role::Arrive(meeting)),
        (Op::Wait, _) => one(1, true, Role::Wait),
        (Op::Signal, _) => one(1, true, Role::Signal),
        (Op::Fork | Op::Start | Op::Exit | Op::Join | Op::Cancel, _) => {
            // Before it is executed, nobody knows whom a fork creates.
            let whom = event.thread().map_or(0, |thread| u64::from(thread.0));
            (
                Some(Touch { address: THREADS + whom, bytes: 1, writes: true, role: Role::Life }),
                None,
            )
        }
        (Op::External, _) => {
            (Some(Touch { address: OUTSIDE, bytes: 1, writes: true, role: Role::Outside }), None)
        }
        (Op::End | Op::Alloc | Op::Fence | Op::Yield, _) => (None, None),
    }
}

impl Touch {
    /// Whether the two depend on each other, being of different threads.
    #[inline]
    pub fn conflicts(&self, other: &Touch) -> bool {
        (self.writes || other.writes) && self.meets(other) && !self.commutes(other)
    }

    /// Whether both write, and the same is there afterwards and seen in either order.
    #[inline]
    fn commutes(&self, other: &Touch) -> bool {
        match (self.role, other.role) {
            // Of some bytes only, a carry would be lost.
            (Role::Blind(a), Role::Blind(b)) => {
                a == b && self.address == other.address && self.bytes == other.bytes
            }
            // Two who would both be the last are for one place: the other has to wait for the next meeting.
            (Role::Arrive(a), Role::Arrive(b)) => a.number == b.number && !(a.is_full && b.is_full),
            (Role::Leave(_), Role::Leave(_)) => true,
            // An arrival for an earlier meeting is before this one was left.
            (Role::Arrive(a), Role::Leave(b)) | (Role::Leave(b), Role::Arrive(a)) => {
                a.number > b.number
            }
            _ => false,
        }
    }

    /// Whether others commute with it, so that it does not come after all that was before it.
    #[inline]
    pub fn is_one_of_many(&self) -> bool {
        matches!(self.role, Role::Blind(_) | Role::Arrive(_) | Role::Leave(_))
    }

    /// The thread that is created, ended or joined.
    pub fn thread(&self) -> Option<u32> {
        (self.role == Role::Life).then(|| (self.address - THREADS) as u32)
    }

    #[inline]
    fn meets(&self, other: &Touch) -> bool {
        self.address < other.address.saturating_add(other.bytes)
            && other.address < self.address.saturating_add(self.bytes)
    }

    /// Whether the order of the two decides what is read or who goes on.
    pub fn tells_with(&self, other: &Touch) -> bool {
        let decides = match (self.role.usual(), other.role.usual()) {
            _ if self.commutes(other) => false,
            (Role::Life | Role::Outside, _) | (_, Role::Life | Role::Outside) => false,
            (Role::Free, _) | (_, Role::Free) => true,
            (Role::Data, Role::Data) => self.writes || other.writes,
            (Role::Data, _) | (_, Role::Data) => false,
            (a, b) => !a.commutes(b),
        };
        decides && self.meets(other)
    }
}

impl Role {
    /// What an event does that is the same for those that commute and those that do not.
    pub fn usual(self) -> Role {
        match self {
            Role::Blind(_) => Role::Data,
            Role::Arrive(_) => Role::Wait,
            Role::Leave(_) => Role::Acquire,
            role => role,
        }
    }

    /// Whether nobody could tell in which order two operations on one sync object came.
    fn commutes(self, other: Role) -> bool {
        use Role::{AcquireShared, Release, Wait};
        matches!((self, other), (AcquireShared, AcquireShared) | (Release, Release) | (Wait, Wait))
    }
}

/// Whether two events of different threads depend on each other.
#[inline]
pub fn depend(a: &Pending, b: &Pending) -> bool {
    if a.op == Op::End || b.op == Op::End {
        return true;
    }
    touches(a).any(|x| touches(b).any(|y| x.conflicts(&y)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{SiteId, ThreadId};

    fn event(op: Op, address: u64, bytes: u32) -> Pending {
        Pending {
            op,
            address,
            bytes,
            site: SiteId(0),
            caller: None,
            operand: Operand::None,
            atomic: false,
        }
    }

    fn of(op: Op, thread: u32) -> Pending {
        Pending { operand: Operand::Thread(ThreadId(thread)), ..event(op, 0, 0) }
    }

    #[test]
    fn only_reads_of_the_same_bytes_commute() {
        let (read, write) = (event(Op::Read, 100, 4), event(Op::Write, 102, 4));
        assert!(depend(&read, &write) && depend(&write, &write));
        assert!(!depend(&read, &read));
        assert!(!depend(&read, &event(Op::Write, 104, 4)));
    }

    #[test]
    fn waits_and_wakes_touch_their_mutex_too() {
        let wait = Pending { operand: Operand::Mutex(400), ..event(Op::Wait, 800, 48) };
        assert!(depend(&wait, &event(Op::Acquire, 400, 40)));
        assert!(depend(&wait, &event(Op::Signal, 800, 48)));
        assert!(!depend(&event(Op::Acquire, 400, 40), &event(Op::Signal, 800, 48)));
    }

    #[test]
    fn threads_depend_on_their_own_life_and_all_on_the_end() {
        assert!(depend(&of(Op::Exit, 2), &of(Op::Join, 2)));
        assert!(!depend(&of(Op::Exit, 1), &of(Op::Join, 2)));
        assert!(depend(&event(Op::End, 0, 0), &event(Op::Read, 100, 4)));
    }

    #[test]
    fn an_exchange_that_was_refused_only_read() {
        let refused = Pending { operand: Operand::Refused, ..event(Op::Update, 100, 4) };
        assert!(!depend(&refused, &refused) && !depend(&refused, &event(Op::Read, 100, 4)));
        assert!(depend(&refused, &event(Op::Update, 100, 4)));
    }

    #[test]
    fn blind_updates_of_a_kind_commute_with_each_other_only() {
        let blind = |kind, address| Pending {
            operand: Operand::Blind(kind),
            ..event(Op::Update, address, 4)
        };
        let add = blind(Commuting::Add, 100);
        assert!(!depend(&add, &add));
        assert!(
            depend(&add, &blind(Commuting::Or, 100)) && depend(&add, &blind(Commuting::Add, 102))
        );
        assert!(depend(&add, &event(Op::Update, 100, 4)) && depend(&add, &event(Op::Read, 100, 4)));
    }

    #[test]
    fn who_meets_comes_in_no_order_and_meetings_do() {
        let of = |op, number, is_full| Pending {
            operand: Operand::Meeting(Meeting { number, is_full }),
            ..event(op, 200, 32)
        };
        let arrive = |number| of(Op::Wait, number, false);
        let leave = |number| of(Op::Acquire, number, true);
        let last = of(Op::Wait, 1, true);
        assert!(!depend(&arrive(1), &last) && depend(&last, &last), "one of them is too late");
        assert!(!depend(&arrive(1), &arrive(1)) && !depend(&leave(1), &leave(1)));
        assert!(depend(&arrive(1), &leave(1)) && depend(&arrive(1), &arrive(2)));
        assert!(!depend(&leave(1), &arrive(2)));
        assert!(depend(&event(Op::Wait, 200, 32), &arrive(1)), "it looks whether it is the last");
        assert!(depend(&event(Op::Release, 200, 32), &leave(1)), "nobody may be there");
    }

    #[test]
    fn what_tells_something_depends() {
        let tells =
            |a: &Pending, b: &Pending| touches(a).any(|x| touches(b).any(|y| x.tells_with(&y)));
        let (lock, unlock) = (event(Op::Acquire, 400, 40), event(Op::Release, 400, 40));
        assert!(tells(&lock, &unlock) && tells(&lock, &lock));
        assert!(!tells(&unlock, &unlock) && depend(&unlock, &unlock));
        let (free, read) = (event(Op::Free, 96, 64), event(Op::Read, 100, 4));
        assert!(tells(&free, &read) && tells(&read, &free));
        assert!(!tells(&of(Op::Exit, 2), &of(Op::Join, 2)), "nobody wishes that otherwise");
        for a in [lock, unlock, free, read] {
            for b in [lock, unlock, free, read] {
                assert!(!tells(&a, &b) || depend(&a, &b));
            }
        }
    }
}
