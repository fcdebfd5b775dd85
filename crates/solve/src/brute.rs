//! The oracle: all interleavings of a tiny model, one by one.
//!
//! Exponential. For tests: what solvers and heuristics say about tiny traces must agree with it.

use unravel_trace::ThreadId;

use crate::criteria::{self, Distance, Flow};
use crate::{Evaluator, Model, StepId, Verdict};

/// All complete orders that are feasible, and how they end. Orders that fail or leave the path early are cut there.
#[derive(Clone, Debug, Default)]
pub struct Census {
    pub orders: Vec<Ending>,
}

/// One interleaving.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Ending {
    /// As performed; of a deadlock without the requests that were not granted.
    pub order: Vec<StepId>,
    pub verdict: Verdict,
    pub flows: Vec<Flow>,
}

/// Enumerates by depth-first search; `None` if there are more than `limit` orders.
pub fn census(model: &Model, limit: usize) -> Option<Census> {
    let mut search = Search { evaluator: Evaluator::new(model), census: Census::default(), limit };
    search.go_on().then_some(search.census)
}

struct Search<'m> {
    evaluator: Evaluator<'m>,
    census: Census,
    limit: usize,
}

impl Search<'_> {
    /// False if the limit was reached.
    fn go_on(&mut self) -> bool {
        let model = self.evaluator.model();
        let mut next = Vec::new();
        let mut waiting = Vec::new();
        for thread in 0..model.threads() {
            if let Some(step) = self.evaluator.next_step(ThreadId(thread as u32)) {
                let list = if self.evaluator.is_enabled(step) { &mut next } else { &mut waiting };
                list.push(step);
            }
        }
        if next.is_empty() {
            let verdict = self.verdict_without_next(&waiting);
            return self.keep(verdict);
        }
        for step in next {
            let more = match self.evaluator.push(step) {
                Some(verdict) => self.keep(verdict),
                None => self.go_on(),
            };
            self.evaluator.pop();
            if !more {
                return false;
            }
        }
        true
    }

    /// Nobody can go on.
    fn verdict_without_next(&mut self, waiting: &[StepId]) -> Verdict {
        let model = self.evaluator.model();
        if let Some(&at) = waiting.iter().find(|step| !model.is_request(**step)) {
            return Verdict::Blocked { at };
        }
        for step in waiting {
            self.evaluator.push(*step);
        }
        let verdict = self.evaluator.verdict();
        waiting.iter().for_each(|_| self.evaluator.pop());
        verdict
    }

    fn keep(&mut self, verdict: Verdict) -> bool {
        let flows = criteria::flows(self.evaluator.model(), &self.evaluator);
        let order = self.evaluator.performed().to_vec();
        self.census.orders.push(Ending { order, verdict, flows });
        self.census.orders.len() <= self.limit
    }
}

impl Census {
    /// Orders that execute everything and do not fail.
    pub fn passing(&self) -> impl Iterator<Item = &Ending> {
        self.orders.iter().filter(|e| e.verdict == Verdict::Passes)
    }

    pub fn failing(&self) -> impl Iterator<Item = &Ending> {
        self.orders.iter().filter(|e| matches!(e.verdict, Verdict::Fails { .. }))
    }

    /// The distances of all passing orders from a failing one.
    pub fn distances(&self, model: &Model, failing: &[StepId]) -> Vec<Distance> {
        let mut evaluator = Evaluator::new(model);
        evaluator.evaluate(failing);
        let flows = criteria::flows(model, &evaluator);
        let distance = |e: &Ending| criteria::distance(model, failing, &flows, &e.order, &e.flows);
        self.passing().map(distance).collect()
    }

    /// The smallest distance, criteria in this order of importance; `None` if nothing passes.
    pub fn lexicographic(&self, model: &Model, failing: &[StepId]) -> Option<Distance> {
        self.distances(model, failing).into_iter().min()
    }

    /// The smallest weighted sum.
    pub fn sum(&self, model: &Model, failing: &[StepId], weights: [u32; 3]) -> Option<u32> {
        let weighted = |d: Distance| d.iter().zip(weights).map(|(d, w)| d * w).sum();
        self.distances(model, failing).into_iter().map(weighted).min()
    }
}
