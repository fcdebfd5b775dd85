//! Chance, for long traces: steps are walked through by thread priorities that change a few times, as PCT does it, and the
//! evaluator says where it fails. A thread that would leave its path, or has to wait, lets the next one go.

use unravel_solve::{Evaluator, Model, StepId, Verdict};
use unravel_trace::{Rng, ThreadId};

/// Times that priorities change, at most.
const CHANGES: u32 = 4;

/// An order that fails, all steps in it; `None` if this walk does not.
pub fn walk(model: &Model, mut rng: Rng) -> Option<Vec<StepId>> {
    let threads = model.threads();
    let mut priority: Vec<usize> = (0..threads).collect();
    for at in (1..threads).rev() {
        priority.swap(at, rng.below(at as u32 + 1) as usize);
    }
    let changes = 1 + rng.below(CHANGES);
    let mut change_at: Vec<usize> =
        (0..changes).map(|_| rng.below(model.len().max(1) as u32) as usize).collect();
    change_at.sort_unstable();
    let mut evaluator = Evaluator::new(model);
    let mut next = vec![0usize; threads];
    let mut order: Vec<StepId> = Vec::with_capacity(model.len());
    loop {
        let mut went = None;
        for (rank, thread) in priority.iter().copied().enumerate() {
            let steps = model.thread_steps(ThreadId(thread as u32));
            let Some(step) = steps.get(next[thread]).copied() else { continue };
            match evaluator.push(step) {
                None => {
                    order.push(step);
                    next[thread] += 1;
                    went = Some(rank);
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
        let rank = went?;
        // Whoever is running goes last from here on.
        if change_at.first().is_some_and(|at| order.len() >= *at) {
            change_at.remove(0);
            let thread = priority.remove(rank);
            priority.push(thread);
        }
    }
}

/// With what comes after the failure, in any order.
fn completed(model: &Model, mut order: Vec<StepId>, next: &[usize]) -> Vec<StepId> {
    for (thread, done) in next.iter().enumerate() {
        order.extend(&model.thread_steps(ThreadId(thread as u32))[*done..]);
    }
    order
}
