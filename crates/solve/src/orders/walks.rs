//! Evaluate first: random walks through the steps that can be executed, before and instead of a search.
//!
//! A walk executes any next step of a thread that neither waits nor leaves its recorded path. Where none can go on it
//! takes some steps back and goes another way. Walks differ in how long they stay with a thread. They find what many
//! orders do, at a fraction of what a search costs, and prove nothing.

use unravel_trace::{Rng, ThreadId};

use crate::budgets::{LEAST_WALKED, MOST_WALKED, WALK_EFFORT, WALKS};
use crate::measure::is_as_wished;
use crate::{Before, Evaluator, Model, Query, StepId, Verdict};

/// An order that ends as wished and obeys the query, if chance finds one.
pub(super) fn find(query: &Query<'_>) -> Option<Vec<StepId>> {
    if query.model.is_deadlock() || query.free.is_some() {
        return None;
    }
    let mut left = (WALK_EFFORT * query.model.len()).clamp(LEAST_WALKED, MOST_WALKED);
    let share = left / WALKS as usize;
    for walk in 0..WALKS {
        let mut rng = Rng::new(Rng::derive(17, walk));
        let mut allowed = share.min(left);
        left -= allowed;
        let order = Walk::new(query, [1, 2, 4, 16][walk as usize % 4]).run(&mut rng, &mut allowed);
        if order.is_some() {
            return order;
        }
    }
    None
}

struct Walk<'q> {
    query: &'q Query<'q>,
    model: &'q Model,
    evaluator: Evaluator<'q>,
    order: Vec<StepId>,
    /// One in so many times another thread goes on.
    stay: u32,
}

impl<'q> Walk<'q> {
    fn new(query: &'q Query<'q>, stay: u32) -> Walk<'q> {
        let model = query.model;
        let order = Vec::with_capacity(model.len());
        Walk { query, model, evaluator: Evaluator::new(model), order, stay }
    }

    fn run(mut self, rng: &mut Rng, allowed: &mut usize) -> Option<Vec<StepId>> {
        loop {
            match self.go_on(rng, allowed) {
                Gone::On => {}
                Gone::ToTheEnd => break,
                Gone::Nowhere => {
                    if *allowed == 0 || self.order.is_empty() {
                        return None;
                    }
                    // Mostly a little, now and then far.
                    let far = if rng.below(4) == 0 { 64 } else { 6 };
                    for _ in 0..=rng.below(far) {
                        if self.order.pop().is_some() {
                            self.evaluator.pop();
                        }
                    }
                }
            }
        }
        let order = self.completed();
        let verdict = self.evaluator.evaluate(&order);
        (is_as_wished(verdict, self.query.wish) && obeys(self.query, &order)).then_some(order)
    }

    /// Executes one more step.
    fn go_on(&mut self, rng: &mut Rng, allowed: &mut usize) -> Gone {
        let threads = (0..self.model.threads() as u32).map(ThreadId);
        let mut next: Vec<StepId> =
            threads.filter_map(|thread| self.evaluator.next_step(thread)).collect();
        if next.is_empty() {
            return Gone::ToTheEnd;
        }
        let last = self.order.last().map(|step| self.model.owner(*step));
        while !next.is_empty() {
            let same = next.iter().position(|step| Some(self.model.owner(*step)) == last);
            let index = match same {
                Some(index) if rng.below(self.stay) > 0 => index,
                _ => rng.below(next.len() as u32) as usize,
            };
            let step = next.swap_remove(index);
            *allowed = allowed.saturating_sub(1);
            match self.evaluator.push(step) {
                None => {
                    self.order.push(step);
                    return Gone::On;
                }
                Some(verdict @ Verdict::Fails { .. }) if is_as_wished(verdict, self.query.wish) => {
                    self.order.push(step);
                    return Gone::ToTheEnd;
                }
                Some(_) => self.evaluator.pop(),
            }
            if *allowed == 0 {
                return Gone::Nowhere;
            }
        }
        Gone::Nowhere
    }

    /// With the steps after the end, in any order.
    fn completed(&self) -> Vec<StepId> {
        let mut order = self.order.clone();
        let mut done = vec![false; self.model.len()];
        order.iter().for_each(|step| done[step.index()] = true);
        order.extend(self.model.steps().filter(|step| !done[step.index()]));
        order
    }
}

enum Gone {
    On,
    ToTheEnd,
    Nowhere,
}

/// Whether an order keeps what is to be kept, and nothing that is blocked.
fn obeys(query: &Query<'_>, order: &[StepId]) -> bool {
    let mut places = vec![0; order.len()];
    order.iter().enumerate().for_each(|(place, step)| places[step.index()] = place);
    let holds = |order: &Before| places[order.first.index()] < places[order.second.index()];
    query.keep.iter().all(holds) && query.blocked.iter().all(|set| !set.iter().all(holds))
}
