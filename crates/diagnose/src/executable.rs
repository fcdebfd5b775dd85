//! From an order of steps in the model to a schedule that can be executed.
//!
//! In a real run an access is a point only while others are alive, which depends on the order; in a guided run every
//! access is, and some steps begin at no point at all. Only what a scheduler is asked about counts.
//!
//! In Symbiosis a schedule is a list of operations; here it is executed, so that it has to be said in decisions.

use unravel_solve::{Evaluator, Model, StepId};
use unravel_trace::{EventKind, PointRule, Schedule, Symbolic, Trace, VisibleSet};

/// The steps of a model, with the trace they were made of.
#[derive(Clone, Copy, Debug)]
pub struct Steps<'a> {
    pub model: &'a Model,
    pub trace: &'a Trace,
    pub symbolic: &'a Symbolic,
    /// Steps that no point began.
    pub unscheduled: &'a [u32],
}

impl Steps<'_> {
    /// The decisions that execute an order, as far as it goes.
    pub fn schedule(&self, order: &[StepId], visible: &VisibleSet) -> Schedule {
        let mut evaluator = Evaluator::new(self.model);
        evaluator.evaluate(order);
        let mut turns = Vec::new();
        let mut alive = 1;
        for step in evaluator.performed().iter().filter(|s| !self.model.is_request(**s)) {
            let events = &self.trace.events[self.symbolic.steps[step.index()].range()];
            let is_point = events.first().is_none_or(|event| {
                PointRule::of_event(&event.kind).is_one(event.site, visible, alive)
            });
            if is_point && !self.unscheduled.contains(&(step.index() as u32)) {
                turns.push(self.model.owner(*step).0);
            }
            for event in events {
                match event.kind {
                    EventKind::Fork { .. } => alive += 1,
                    EventKind::Exit => alive -= 1,
                    _ => {}
                }
            }
        }
        let choices = evaluator.choices().to_vec();
        Schedule::of_turns(self.trace.threads.clone(), turns, choices, visible.clone())
    }
}
