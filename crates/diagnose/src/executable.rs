//! From an order of steps in the model to a schedule that can be executed.
//!
//! In a real run an access is a point only while others are alive, which depends on the order; in a guided run every
//! access is, and some steps begin at no point at all. Only what a scheduler is asked about counts.

use unravel_solve::{Evaluator, Model, StepId};
use unravel_trace::{EventKind, Schedule, Segment, Symbolic, Trace, VisibleSet};

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
        let mut segments: Vec<Segment> = Vec::new();
        let mut alive = 1;
        for step in evaluator.performed().iter().filter(|s| !self.model.is_request(**s)) {
            let events = &self.trace.events[self.symbolic.steps[step.index()].range()];
            let first = events.first().map(|event| &event.kind);
            let counts = !self.unscheduled.contains(&(step.index() as u32))
                && (alive > 1 || !first.is_some_and(needs_company));
            let thread = self.model.owner(*step).0;
            match segments.last_mut() {
                Some(last) if last.thread == thread => last.events += u32::from(counts),
                _ => segments.push(Segment { thread, events: u32::from(counts) }),
            }
            for event in events {
                match event.kind {
                    EventKind::Fork { .. } => alive += 1,
                    EventKind::Exit => alive -= 1,
                    _ => {}
                }
            }
        }
        segments.retain(|segment| segment.events > 0);
        Schedule {
            threads: self.trace.threads.clone(),
            segments,
            choices: evaluator.choices().to_vec(),
            visible: visible.clone(),
        }
    }
}

/// Whether an event is a point only if more than one thread is alive.
fn needs_company(kind: &EventKind) -> bool {
    matches!(
        kind,
        EventKind::Read { .. }
            | EventKind::Write { .. }
            | EventKind::ReadModifyWrite { .. }
            | EventKind::Fence
            | EventKind::AtomicBegin
            | EventKind::Free { .. }
            | EventKind::External { .. }
    )
}
