//! What deadlock-directed search steers into: cycles of locks that were held while others were taken.
//!
//! The lock graph of Goodlock (Havelund, SPIN 2000) and of DeadlockFuzzer (Joshi et al., PLDI 2009): an edge for each lock that
//! a thread took while it held another; a cycle whose edges are of different threads that hold no lock in common may be a deadlock.
//! The edges of all runs that teach count together, so that a cycle is seen even if no run had all of it.
//!
//! `hunt` has the same of recorded traces, where every cycle is asked of a solver; here one is only tried. A lock that threads
//! share for reading counts as any other, and locks are told apart by address: those that are allocated in another order in another
//! run are missed.

use serde::{Deserialize, Serialize};
use unravel_trace::{Executed, Op, SiteId, ThreadId, ThreadName};

use crate::budgets::{LONGEST_LOCK_CYCLE, MOST_LOCK_CYCLES, MOST_LOCK_ORDERS};
use crate::held::Held;

/// A lock taken while another is held.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
struct LockOrder {
    thread: ThreadName,
    step: CycleStep,
    /// All that is held.
    all: Vec<u64>,
}

/// What one thread of a cycle does: it holds one lock and wants another.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct CycleStep {
    pub held: u64,
    pub wanted: u64,
    pub held_at: SiteId,
    pub wanted_at: SiteId,
}

/// The orders of locks that runs have shown, and their cycles.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct LockOrders {
    /// Sorted, each once.
    orders: Vec<LockOrder>,
    cycles: Vec<Vec<CycleStep>>,
}

impl LockOrders {
    pub fn cycles(&self) -> &[Vec<CycleStep>] {
        &self.cycles
    }

    pub fn merge(&mut self, other: &LockOrders) {
        let before = self.orders.len();
        for order in &other.orders {
            if self.orders.len() < MOST_LOCK_ORDERS
                && let Err(at) = self.orders.binary_search(order)
            {
                self.orders.insert(at, order.clone());
            }
        }
        if self.orders.len() > before {
            self.cycles.clear();
            for first in 0..self.orders.len() {
                self.close(&mut vec![first]);
            }
        }
    }

    /// Adds the cycles that begin with these orders, the first of which is their least.
    fn close(&mut self, path: &mut Vec<usize>) {
        let (first, last) = (&self.orders[path[0]], &self.orders[path[path.len() - 1]]);
        if path.len() > 1 && last.step.wanted == first.step.held {
            let cycle: Vec<CycleStep> = path.iter().map(|at| self.orders[*at].step).collect();
            if !self.cycles.contains(&cycle) {
                self.cycles.push(cycle);
            }
            return;
        }
        if path.len() >= LONGEST_LOCK_CYCLE {
            return;
        }
        for next in path[0] + 1..self.orders.len() {
            if self.cycles.len() >= MOST_LOCK_CYCLES {
                return;
            }
            let order = &self.orders[next];
            let follows = order.step.held == self.orders[path[path.len() - 1]].step.wanted;
            let may_meet = |at: &usize| {
                let other = &self.orders[*at];
                other.thread != order.thread && !other.all.iter().any(|l| order.all.contains(l))
            };
            if follows && path.iter().all(may_meet) {
                path.push(next);
                self.close(path);
                path.pop();
            }
        }
    }
}

/// Collects the lock orders of a run from its events.
#[derive(Clone, Debug, Default)]
pub struct LockOrderCollector {
    held: Held,
    /// The threads by number, and what they did.
    orders: Vec<(ThreadId, CycleStep, Vec<u64>)>,
}

impl LockOrderCollector {
    pub fn observe(&mut self, executed: &Executed<'_>) {
        let Executed { thread, ref what, .. } = *executed;
        if matches!(what.op, Op::Acquire | Op::AcquireShared) {
            let wanted = what.mutex().unwrap_or(what.address);
            let held = self.held.of(thread);
            let all: Vec<u64> = held.iter().map(|lock| lock.address).collect();
            for lock in held.iter().filter(|lock| lock.address != wanted) {
                let step = CycleStep {
                    held: lock.address,
                    wanted,
                    held_at: lock.site,
                    wanted_at: what.site,
                };
                let order = (thread, step, all.clone());
                if self.orders.len() < MOST_LOCK_ORDERS && !self.orders.contains(&order) {
                    self.orders.push(order);
                }
            }
        }
        self.held.observe(executed);
    }

    /// What the run had; ready for the next.
    pub fn finish(&mut self, names: &[ThreadName]) -> LockOrders {
        self.held.clear();
        let named = |(thread, step, all): (ThreadId, CycleStep, Vec<u64>)| {
            Some(LockOrder { thread: names.get(thread.index())?.clone(), step, all })
        };
        let mut orders: Vec<LockOrder> = self.orders.drain(..).filter_map(named).collect();
        orders.sort();
        orders.dedup();
        LockOrders { orders, cycles: Vec::new() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use unravel_trace::{Operand, Pending};

    /// The lengths of the cycles in a run that acquires (`+`) and releases (`-`) these locks.
    fn cycles(events: &[(u32, i64)]) -> Vec<usize> {
        let mut collector = LockOrderCollector::default();
        for (thread, lock) in events {
            let what = Pending {
                op: if *lock > 0 { Op::Acquire } else { Op::Release },
                address: lock.unsigned_abs(),
                bytes: 1,
                site: SiteId(lock.unsigned_abs() as u32),
                caller: None,
                operand: Operand::None,
                atomic: false,
            };
            let thread = ThreadId(*thread);
            collector.observe(&Executed { number: 1, thread, what, repeats: false, names: &[] });
        }
        let names: Vec<ThreadName> = (0..4).map(|n| ThreadName(vec![n])).collect();
        let mut orders = LockOrders::default();
        orders.merge(&collector.finish(&names));
        orders.cycles().iter().map(Vec::len).collect()
    }

    fn nested(thread: u32, locks: &[i64]) -> Vec<(u32, i64)> {
        let released = locks.iter().rev().map(|lock| -lock);
        locks.iter().copied().chain(released).map(|lock| (thread, lock)).collect()
    }

    #[test]
    fn two_orders_of_two_threads_are_a_cycle() {
        assert_eq!(cycles(&[nested(1, &[10, 20]), nested(2, &[20, 10])].concat()), [2]);
        assert_eq!(cycles(&[nested(1, &[10, 20]), nested(1, &[20, 10])].concat()), [0; 0]);
        assert_eq!(cycles(&[nested(1, &[10, 20]), nested(2, &[10, 20])].concat()), [0; 0]);
    }

    #[test]
    fn a_lock_around_both_keeps_them_apart() {
        let guarded = [nested(1, &[5, 10, 20]), nested(2, &[5, 20, 10])].concat();
        assert_eq!(cycles(&guarded), [0; 0]);
    }

    #[test]
    fn three_threads_may_be_needed() {
        let ring = [nested(1, &[10, 20]), nested(2, &[20, 30]), nested(3, &[30, 10])].concat();
        assert_eq!(cycles(&ring), [3]);
    }

    #[test]
    fn runs_count_together() {
        let mut orders = LockOrders::default();
        for (thread, held, wanted) in [(1, 10, 20), (2, 20, 10)] {
            let step = CycleStep { held, wanted, held_at: SiteId(1), wanted_at: SiteId(2) };
            let order = LockOrder { thread: ThreadName(vec![thread]), step, all: vec![held] };
            orders.merge(&LockOrders { orders: vec![order], cycles: Vec::new() });
        }
        assert_eq!(orders.cycles().len(), 1);
    }
}
