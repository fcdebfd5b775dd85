//! Which accesses of a run could have come the other way round for all that creating and joining threads says: of one place, by two
//! threads, one of them writing.
//!
//! What a program hands to a thread at its start and takes back when it has joined it has its order anyway. To log it costs, and to enforce
//! the order that one run had of the places of an array, each of which belongs to one thread, contradicts the rest of another run's log
//! for no reason. CoopREP leaves such fields to the escape analysis of Soot, which knows objects; our elements are static, so runs are
//! looked at instead.
//!
//! Locks order nothing here, since the order of locking is what a log is about. It errs on the side of too much that is shared: by places of
//! four bytes, and of memory that is used again.

use rustc_hash::FxHashMap;
use unravel_trace::{Executed, Op, ThreadId};

use crate::budgets::{GRANULE, WIDEST_ACCESS};

/// What creating and joining threads orders, and what it does not.
#[derive(Debug, Default)]
pub(crate) struct Parallel {
    threads: Vec<Thread>,
    /// By granule: who accessed it last, each thread once.
    places: FxHashMap<u64, Vec<Last>>,
}

#[derive(Debug, Default)]
struct Thread {
    /// By thread, how many of its stretches between creating others are known to be over; its own is the one that it is in.
    known: Vec<u32>,
    has_ended: bool,
}

/// The stretches of its thread in which a place was accessed last, from 1.
#[derive(Clone, Copy, Debug)]
struct Last {
    thread: ThreadId,
    read: u32,
    write: u32,
}

impl Parallel {
    /// Takes an event that is no access.
    pub fn executed(&mut self, executed: &Executed<'_>) {
        let (me, what) = (executed.thread, &executed.what);
        let other = match what.op {
            Op::Exit => {
                self.know(me);
                self.threads[me.index()].has_ended = true;
                return;
            }
            Op::Fork | Op::Join => what.thread(),
            _ => None,
        };
        let Some(other) = other else { return };
        self.know(me.max(other));
        match what.op {
            Op::Fork => {
                let known = self.threads[me.index()].known.clone();
                join(&mut self.threads[other.index()].known, &known);
                self.threads[me.index()].known[me.index()] += 1;
            }
            // Without the other's end, the time was up.
            _ if self.threads[other.index()].has_ended => {
                let known = self.threads[other.index()].known.clone();
                join(&mut self.threads[me.index()].known, &known);
            }
            _ => {}
        }
    }

    /// Takes an access. Whether another thread's access of the same place could have come behind it.
    pub fn access(&mut self, thread: ThreadId, address: u64, bytes: u32, writes: bool) -> bool {
        self.know(thread);
        let bytes = u64::from(bytes.max(1)).min(WIDEST_ACCESS);
        let known = &self.threads[thread.index()].known;
        let now = known[thread.index()];
        let is_open = |other: &Last| {
            let over = known.get(other.thread.index()).copied().unwrap_or(0);
            other.write > over || (writes && other.read > over)
        };
        let mut found = false;
        for granule in address / GRANULE..=(address + bytes - 1) / GRANULE {
            let all = self.places.entry(granule).or_default();
            found |= all.iter().any(|other| other.thread != thread && is_open(other));
            let own = match all.iter().position(|last| last.thread == thread) {
                Some(at) => &mut all[at],
                None => {
                    all.push(Last { thread, read: 0, write: 0 });
                    all.last_mut().expect("it was pushed")
                }
            };
            *(if writes { &mut own.write } else { &mut own.read }) = now;
        }
        found
    }

    fn know(&mut self, thread: ThreadId) {
        while self.threads.len() <= thread.index() {
            let mut known = vec![0; self.threads.len() + 1];
            known[self.threads.len()] = 1;
            self.threads.push(Thread { known, has_ended: false });
        }
    }
}

fn join(known: &mut Vec<u32>, other: &[u32]) {
    if known.len() < other.len() {
        known.resize(other.len(), 0);
    }
    for (mine, theirs) in known.iter_mut().zip(other) {
        *mine = (*mine).max(*theirs);
    }
}

#[cfg(test)]
mod tests {
    use unravel_trace::{Operand, Pending, SiteId};

    use super::*;

    const MAIN: ThreadId = ThreadId(0);
    const ONE: ThreadId = ThreadId(1);
    const TWO: ThreadId = ThreadId(2);

    fn sync(parallel: &mut Parallel, thread: ThreadId, op: Op, other: ThreadId) {
        let what = Pending {
            op,
            address: 0,
            bytes: 0,
            site: SiteId(0),
            caller: None,
            operand: Operand::Thread(other),
            atomic: false,
        };
        parallel.executed(&Executed { number: 1, thread, what, repeats: false, names: &[] });
    }

    #[test]
    fn what_a_thread_is_given_and_gives_back_has_its_order() {
        let mut parallel = Parallel::default();
        assert!(!parallel.access(MAIN, 16, 4, true));
        sync(&mut parallel, MAIN, Op::Fork, ONE);
        sync(&mut parallel, MAIN, Op::Fork, TWO);
        assert!(!parallel.access(ONE, 16, 4, true), "main wrote it before");
        assert!(!parallel.access(TWO, 20, 4, true), "its own place of the array");
        sync(&mut parallel, ONE, Op::Exit, ONE);
        sync(&mut parallel, MAIN, Op::Join, ONE);
        assert!(!parallel.access(MAIN, 16, 4, false), "its thread has ended");
        assert!(parallel.access(MAIN, 20, 4, false), "its thread has not");
        sync(&mut parallel, TWO, Op::Exit, TWO);
        sync(&mut parallel, MAIN, Op::Join, TWO);
        assert!(!parallel.access(MAIN, 20, 4, true));
    }

    #[test]
    fn what_two_write_has_none() {
        let mut parallel = Parallel::default();
        sync(&mut parallel, MAIN, Op::Fork, ONE);
        assert!(!parallel.access(ONE, 16, 4, false));
        assert!(!parallel.access(MAIN, 16, 4, false), "both read");
        assert!(parallel.access(MAIN, 16, 4, true));
        assert!(parallel.access(ONE, 12, 8, false), "a part of it");
        // A join that ran out of time orders nothing.
        sync(&mut parallel, MAIN, Op::Join, ONE);
        assert!(parallel.access(MAIN, 16, 4, true));
    }
}
