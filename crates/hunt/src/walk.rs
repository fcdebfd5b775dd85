//! Chance, for long traces: steps are walked through thread by thread, in slices as a scheduler of the system would cut them,
//! and the evaluator says where it fails. A thread that would leave its path, or has to wait, lets the others go.
//!
//! Slices are short: a machine does not let a thread run for long that changes nothing others could see, and repeating what
//! is there already changes nothing.

use unravel_solve::{Evaluator, Model, StepId, Verdict};
use unravel_trace::{Rng, ThreadId};

/// Mean steps of a slice, drawn for each walk.
const SLICES: [u32; 4] = [2, 8, 25, 80];

/// An order that fails, all steps in it; `None` if this walk does not.
pub fn walk(model: &Model, mut rng: Rng) -> Option<Vec<StepId>> {
    let slice = *rng.pick(&SLICES);
    let mut evaluator = Evaluator::new(model);
    let mut next = vec![0usize; model.threads()];
    let mut order: Vec<StepId> = Vec::with_capacity(model.len());
    // Whoever is first goes on until its slice ends.
    let mut turns: Vec<usize> = (0..model.threads()).collect();
    let mut left = 0;
    loop {
        if left == 0 {
            let first = rng.below(turns.len() as u32) as usize;
            turns.swap(0, first);
            left = 1 + rng.below(2 * slice);
        }
        let mut went = None;
        for (place, thread) in turns.iter().copied().enumerate() {
            let steps = model.thread_steps(ThreadId(thread as u32));
            let Some(step) = steps.get(next[thread]).copied() else { continue };
            match evaluator.push(step) {
                None => {
                    order.push(step);
                    next[thread] += 1;
                    went = Some(place);
                    break;
                }
                Some(Verdict::Fails { .. }) => {
                    order.push(step);
                    next[thread] += 1;
                    return Some(completed(model, order, &next));
                }
                Some(_) => evaluator.pop(),
            }
        }
        turns.swap(0, went?);
        left -= 1;
    }
}

/// With what comes after the failure, in any order.
fn completed(model: &Model, mut order: Vec<StepId>, next: &[usize]) -> Vec<StepId> {
    for (thread, done) in next.iter().enumerate() {
        order.extend(&model.thread_steps(ThreadId(thread as u32))[*done..]);
    }
    order
}
