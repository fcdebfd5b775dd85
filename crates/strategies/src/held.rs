//! Which locks threads hold, as events tell.
//!
//! What is acquired by trying, and in vain, is taken to be held: events do not say how a try went. A semaphore is held by who
//! has waited for it, until that thread posts. Both make what is learnt here a hint, never a claim.

use unravel_trace::{Executed, Op, SiteId, ThreadId};

/// More is no nesting but a semaphore that one thread waits for and another posts.
const DEEPEST: usize = 16;

/// A lock that is held.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Lock {
    pub address: u64,
    /// Where it was acquired.
    pub site: SiteId,
    /// Which of its thread's acquisitions that was, counted from 1.
    pub number: u64,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Held {
    /// By thread.
    threads: Vec<Locks>,
}

#[derive(Clone, Debug, Default)]
struct Locks {
    held: Vec<Lock>,
    acquisitions: u64,
}

impl Held {
    pub fn clear(&mut self) {
        self.threads.clear();
    }

    /// What a thread holds, the first acquired first.
    pub fn of(&self, thread: ThreadId) -> &[Lock] {
        self.threads.get(thread.index()).map_or(&[], |locks| &locks.held)
    }

    /// How often a thread has acquired a lock.
    pub fn acquisitions(&self, thread: ThreadId) -> u64 {
        self.threads.get(thread.index()).map_or(0, |locks| locks.acquisitions)
    }

    pub fn observe(&mut self, executed: &Executed<'_>) {
        let Executed { thread, ref what, .. } = *executed;
        let (acquired, released) = match what.op {
            // Who wakes on a condition variable acquires its mutex; a signal that arrives is no lock.
            Op::Acquire | Op::AcquireShared if what.thread().is_none() => {
                (Some(what.mutex().unwrap_or(what.address)), None)
            }
            Op::Release => (None, Some(what.address)),
            Op::Wait => (None, what.mutex()),
            _ => return,
        };
        if self.threads.len() <= thread.index() {
            self.threads.resize_with(thread.index() + 1, Locks::default);
        }
        let Locks { held, acquisitions } = &mut self.threads[thread.index()];
        if let Some(address) = acquired {
            *acquisitions += 1;
            if held.len() == DEEPEST {
                held.remove(0);
            }
            held.push(Lock { address, site: what.site, number: *acquisitions });
        }
        if let Some(at) = released.and_then(|lock| held.iter().rposition(|l| l.address == lock)) {
            held.remove(at);
        }
    }
}
