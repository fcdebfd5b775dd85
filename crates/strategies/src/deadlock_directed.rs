//! Deadlock-directed scheduling: threads of a cycle of locks are held where each has its first lock and wants the next.
//!
//! DeadlockFuzzer (Joshi, Park, Sen, Naik, PLDI 2009), one of the modes of Thrille: a random walk that postpones a thread about to
//! close its part of a cycle (`lock_orders.rs`) until all parts have a thread. Then all go on, into the deadlock if it is
//! one. Half of the runs know the locks by address, the others by the sites where they are taken, because what is allocated may be
//! elsewhere in another run.
//!
//! Deviates: who is postponed is let go at random after a while, as in `race_directed.rs`. A search that finds nothing says
//! nothing about a cycle.

use unravel_trace::{Choice, Executed, Op, Question, Ready, Rng, Scheduler, ThreadId, View, Why};

use crate::budgets::PATIENCE;
use crate::held::Held;
use crate::lock_orders::CycleStep;

/// How many events a thread goes on for, on average.
const LENGTHS: [u32; 3] = [1, 4, 32];

#[derive(Debug)]
pub struct DeadlockDirected {
    rng: Rng,
    cycle: Vec<CycleStep>,
    by_address: bool,
    held: Held,
    /// Who stands where, by part of the cycle.
    places: Vec<Option<ThreadId>>,
    /// Threads that were let go: they execute their pending event before they are postponed again.
    released: Vec<ThreadId>,
    length: u32,
    left: u32,
    linger: bool,
}

impl DeadlockDirected {
    pub fn new(seed: u64, cycle: &[CycleStep]) -> DeadlockDirected {
        let mut rng = Rng::new(seed);
        let by_address = rng.below(2) == 0;
        let length = *rng.pick(&LENGTHS);
        let linger = rng.below(2) == 0;
        DeadlockDirected {
            rng,
            cycle: cycle.to_vec(),
            by_address,
            held: Held::default(),
            places: vec![None; cycle.len()],
            released: Vec::new(),
            length,
            left: 0,
            linger,
        }
    }

    /// The part of the cycle, still free, that a thread is about to close.
    fn place(&self, ready: &Ready) -> Option<usize> {
        let pending = &ready.pending;
        if !matches!(pending.op, Op::Acquire | Op::AcquireShared) {
            return None;
        }
        let wanted = pending.mutex().unwrap_or(pending.address);
        let held = self.held.of(ready.thread);
        let closes = |step: &CycleStep| match self.by_address {
            true => step.wanted == wanted && held.iter().any(|lock| lock.address == step.held),
            false => {
                step.wanted_at == pending.site && held.iter().any(|lock| lock.site == step.held_at)
            }
        };
        (0..self.cycle.len()).find(|at| self.places[*at].is_none() && closes(&self.cycle[*at]))
    }

    fn is_postponed(&self, thread: ThreadId) -> bool {
        self.places.contains(&Some(thread))
    }

    fn draw(&mut self, view: &View<'_>) -> Option<Ready> {
        let may =
            |c: &&Ready| !(self.is_postponed(c.thread) || self.linger && c.pending.op == Op::End);
        let yielded = view.why == Why::Yielded;
        let current = view.enabled.iter().filter(may).find(|c| c.thread == view.current);
        if let Some(current) = current.filter(|_| self.left > 0 && !yielded) {
            self.left -= 1;
            return Some(*current);
        }
        let mut candidates: Vec<Ready> = view.enabled.iter().filter(may).copied().collect();
        if candidates.is_empty() && self.places.iter().all(Option::is_none) {
            candidates = view.enabled.to_vec();
        }
        if yielded && candidates.len() > 1 {
            candidates.retain(|c| c.thread != view.current);
        }
        self.left = self.rng.below(2 * self.length - 1);
        (!candidates.is_empty()).then(|| *self.rng.pick(&candidates))
    }

    /// Lets some of those go that are postponed: all, or one at random.
    fn release(&mut self, all: bool) {
        let mut postponed: Vec<usize> =
            (0..self.places.len()).filter(|at| self.places[*at].is_some()).collect();
        if !all && !postponed.is_empty() {
            postponed = vec![*self.rng.pick(&postponed)];
        }
        for place in postponed {
            self.released.extend(self.places[place].take());
        }
    }
}

impl Scheduler for DeadlockDirected {
    fn next(&mut self, view: &View<'_>) -> Choice {
        // Another may have taken what it wants.
        for place in &mut self.places {
            *place = place.filter(|thread| view.is_enabled(*thread));
        }
        if self.places.iter().any(Option::is_some) && self.rng.below(PATIENCE) == 0 {
            self.release(false);
        }
        loop {
            let Some(drawn) = self.draw(view) else {
                self.release(false);
                continue;
            };
            let place = match self.released.contains(&drawn.thread) {
                true => None,
                false => self.place(&drawn),
            };
            let Some(place) = place else {
                self.released.retain(|thread| *thread != drawn.thread);
                return Choice { thread: drawn.thread, events: 1 };
            };
            self.places[place] = Some(drawn.thread);
            if self.places.iter().all(Option::is_some) {
                self.release(true);
            }
        }
    }

    fn choose(&mut self, _: Question, options: u32) -> u32 {
        self.rng.below(options)
    }

    fn watches(&self) -> bool {
        true
    }

    fn watch(&mut self, executed: &Executed<'_>) {
        self.held.observe(executed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use unravel_trace::{Operand, Pending, SiteId, ThreadName};

    const CYCLE: [CycleStep; 2] = [
        CycleStep { held: 10, wanted: 20, held_at: SiteId(1), wanted_at: SiteId(2) },
        CycleStep { held: 20, wanted: 10, held_at: SiteId(3), wanted_at: SiteId(4) },
    ];

    /// Whether two threads run into the cycle that each take and release other locks for long before.
    fn deadlocks(by: &mut dyn Scheduler) -> bool {
        let busy = |lock: i64| [(lock, 7), (-lock, 7)].repeat(20);
        let threads = [
            [busy(30), vec![(10, 1), (20, 2), (-20, 2), (-10, 1)]].concat(),
            [vec![(20, 3), (10, 4), (-10, 4), (-20, 3)], busy(40)].concat(),
        ];
        let names: Vec<ThreadName> = (0..2).map(|n| ThreadName(vec![n])).collect();
        let (mut at, mut owners, mut current) = ([0, 0], std::collections::BTreeMap::new(), 0);
        loop {
            let mut enabled = Vec::new();
            for thread in 0..2usize {
                let Some((lock, site)) = threads[thread].get(at[thread]).copied() else { continue };
                let address = i64::unsigned_abs(lock);
                if lock > 0 && owners.contains_key(&address) {
                    continue;
                }
                let op = if lock > 0 { Op::Acquire } else { Op::Release };
                let pending = Pending {
                    op,
                    address,
                    bytes: 1,
                    site: SiteId(site),
                    caller: None,
                    operand: Operand::None,
                    atomic: false,
                };
                let thread = ThreadId(thread as u32);
                enabled.push(Ready { thread, pending, by_time: false, is_over: false });
            }
            if enabled.is_empty() {
                return at[0] < threads[0].len();
            }
            let view = View {
                enabled: &enabled,
                early: &[],
                names: &names,
                current: ThreadId(current),
                why: Why::UsedUp,
                events: 9,
            };
            let Choice { thread, .. } = by.next(&view);
            let what = view.ready(thread).expect("it was enabled").pending;
            by.watch(&Executed { number: 1, thread, what, repeats: false, names: &names });
            match what.op {
                Op::Acquire => owners.insert(what.address, thread),
                _ => owners.remove(&what.address),
            };
            at[thread.index()] += 1;
            current = thread.0;
        }
    }

    #[test]
    fn threads_meet_in_the_cycle_however_far_apart_they_come_to_it() {
        let met = |seed: &u64| deadlocks(&mut DeadlockDirected::new(*seed, &CYCLE));
        let met = (0..200).filter(met).count();
        assert!(met > 90, "{met} of 200");
        let by_chance = (0..200).filter(|seed| deadlocks(&mut crate::Pos::new(*seed))).count();
        assert!(by_chance < 40, "{by_chance} of 200");
    }

    #[test]
    fn a_cycle_that_nobody_closes_holds_nobody_up() {
        for seed in 0..50 {
            let elsewhere =
                CYCLE.map(|step| CycleStep { wanted: 99, wanted_at: SiteId(9), ..step });
            deadlocks(&mut DeadlockDirected::new(seed, &elsewhere));
        }
    }
}
