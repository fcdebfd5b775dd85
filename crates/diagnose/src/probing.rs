//! Where threads want to go: the recorded order with one thread held back, to see who gets stuck on its path, and where.
//!
//! For Cortex' search over recorded paths ([`crate::recorded`]). That a thread cannot go on as it did, because what it reads now takes
//! it another way, says which of its other recorded paths are worth trying: those that part from its own just there. So of a thousand
//! combinations a handful is looked at, and no solver is asked. Errs towards finding nothing: one thread is held, nothing else varies.

use unravel_solve::{Evaluator, Model, StepId, Verdict};
use unravel_trace::ThreadId;

/// A thread waits before its step of this number until no other can go on.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Held {
    pub thread: ThreadId,
    pub before: usize,
}

/// What came of it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Probed {
    /// It fails; all steps, those after the failure last.
    Fails(Vec<StepId>),
    /// These threads would leave their paths at their steps of these numbers.
    Stuck(Vec<(ThreadId, usize)>),
}

/// Every step as soon as it can be executed on its path, in the order of the model's steps, with one thread held.
pub fn probe(model: &Model, held: Option<Held>) -> Probed {
    let mut evaluator = Evaluator::new(model);
    let mut next = vec![0usize; model.threads()];
    let mut order = Vec::with_capacity(model.len());
    let mut holds = held.is_some();
    loop {
        let thread_of = |index: usize| ThreadId(index as u32);
        let pending = |index: usize| model.thread_steps(thread_of(index)).get(next[index]).copied();
        let mut options: Vec<StepId> = (0..next.len()).filter_map(pending).collect();
        if let Some(held) = held.filter(|_| holds) {
            let waits = |step: &StepId| {
                model.owner(*step) == held.thread && next[held.thread.index()] >= held.before
            };
            options.retain(|step| !waits(step));
        }
        options.sort();
        let mut stuck = Vec::new();
        let mut went_on = None;
        for step in options {
            match evaluator.push(step) {
                None => {
                    went_on = Some(step);
                    break;
                }
                Some(Verdict::Fails { .. }) => {
                    order.push(step);
                    let done: rustc_hash::FxHashSet<StepId> = order.iter().copied().collect();
                    order.extend(model.steps().filter(|step| !done.contains(step)));
                    return Probed::Fails(order);
                }
                Some(verdict) => {
                    if let Verdict::Leaves { .. } = verdict {
                        let owner = model.owner(step);
                        stuck.push((owner, next[owner.index()]));
                    }
                    evaluator.pop();
                }
            }
        }
        match went_on {
            Some(step) => {
                order.push(step);
                next[model.owner(step).index()] += 1;
            }
            // Whoever is stuck now is so because of the one that waits.
            None if holds && stuck.is_empty() => holds = false,
            None => return Probed::Stuck(stuck),
        }
    }
}

/// All ways to hold a thread, those nearest to its end first.
pub fn holds(model: &Model) -> Vec<Held> {
    let mut holds: Vec<(usize, Held)> = Vec::new();
    for thread in (0..model.threads() as u32).map(ThreadId) {
        let steps = model.thread_steps(thread).len();
        holds.extend((0..steps).map(|before| (steps - before, Held { thread, before })));
    }
    holds.sort_by_key(|(from_end, held)| (*from_end, held.thread));
    holds.into_iter().map(|(_, held)| held).collect()
}
