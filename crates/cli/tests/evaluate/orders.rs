//! Orders near a recorded one. Each keeps the order of every thread.

use unravel_solve::{Model, StepId};
use unravel_trace::{Rng, ThreadId};

/// An order a few changes away from `recorded`, or one at random.
pub fn near(model: &Model, recorded: &[StepId], rng: &mut Rng) -> Vec<StepId> {
    let mut order = recorded.to_vec();
    let changes = 1 + rng.below(3);
    match rng.below(8) {
        0..3 => (0..changes).for_each(|_| swap(model, &mut order, rng)),
        3..7 => (0..changes).for_each(|_| bring_forward(model, &mut order, rng)),
        _ => order = at_random(model, rng),
    }
    order
}

/// Two neighbours of different threads change places.
fn swap(model: &Model, order: &mut [StepId], rng: &mut Rng) {
    let places: Vec<usize> =
        (1..order.len()).filter(|i| model.owner(order[*i]) != model.owner(order[i - 1])).collect();
    if !places.is_empty() {
        let at = places[rng.below(places.len() as u32) as usize];
        order.swap(at, at - 1);
    }
}

/// The next steps of some thread are executed at once.
fn bring_forward(model: &Model, order: &mut Vec<StepId>, rng: &mut Rng) {
    let at = rng.below(order.len() as u32) as usize;
    let thread = ThreadId(rng.below(model.threads() as u32));
    let mut left = 1 + rng.below(6);
    let (mut moved, mut rest) = (Vec::new(), Vec::new());
    for step in order.drain(at..) {
        if left > 0 && model.owner(step) == thread {
            moved.push(step);
            left -= 1;
        } else {
            rest.push(step);
        }
    }
    order.extend(moved);
    order.extend(rest);
}

/// Any interleaving, staying with a thread for a while.
fn at_random(model: &Model, rng: &mut Rng) -> Vec<StepId> {
    let mut next = vec![0; model.threads()];
    let mut order = Vec::with_capacity(model.len());
    let mut current = 0;
    while order.len() < model.len() {
        let open: Vec<usize> = (0..model.threads())
            .filter(|t| next[*t] < model.thread_steps(ThreadId(*t as u32)).len())
            .collect();
        if !open.contains(&current) || rng.below(4) == 0 {
            current = open[rng.below(open.len() as u32) as usize];
        }
        order.push(model.thread_steps(ThreadId(current as u32))[next[current]]);
        next[current] += 1;
    }
    order
}
