//! Context-switch reduction (Symbiosis §3.7, algorithm 1, after Tinertia): the same failure with fewer context switches, by
//! evaluation.
//!
//! Two segments of one thread become one by moving the later up to the earlier or the earlier down to the later; a
//! thread's last segment may go altogether. A move that still fails and has fewer switches is kept; until none does.
//!
//! Deviates: a check that the thread passed in the recorded run and fails now is a failure too, if the caller says that it is the same one: a
//! loop that asserts in every round may fail in an earlier one. (The recorded path ends there; execution has the last word.)

use unravel_execute::Limit;
use unravel_solve::{CheckId, Evaluator, Model, StepId, Verdict};
use unravel_trace::ThreadId;

use crate::budgets::REDUCE_STEPS;

/// A failing order with as few context switches as the moves can reach, and how many orders were evaluated. `same` says of a check whether it
/// fails as the recorded run does.
pub fn reduce(
    model: &Model,
    order: &[StepId],
    same: &dyn Fn(CheckId) -> bool,
    limit: Limit<'_>,
) -> (Vec<StepId>, u64) {
    let mut evaluator = Evaluator::new(model);
    // Requests are not executed: they have no place in a schedule.
    let (requests, executed): (Vec<StepId>, Vec<StepId>) =
        order.iter().partition(|step| model.is_request(**step));
    let segments = split(model, &executed);
    let mut reduction =
        Reduction { model, segments, requests, same, evaluated: 0, left: REDUCE_STEPS, limit };
    while reduction.pass(&mut evaluator) && reduction.left > 0 {}
    ([reduction.segments.concat(), reduction.requests].concat(), reduction.evaluated)
}

struct Reduction<'m> {
    model: &'m Model,
    segments: Vec<Vec<StepId>>,
    /// Of a deadlock.
    requests: Vec<StepId>,
    same: &'m dyn Fn(CheckId) -> bool,
    evaluated: u64,
    left: usize,
    limit: Limit<'m>,
}

impl Reduction<'_> {
    /// One round of moves from the last segment to the first; true if any was kept.
    fn pass(&mut self, evaluator: &mut Evaluator<'_>) -> bool {
        let mut improved = false;
        let mut at = self.segments.len();
        while at > 0 && self.left > 0 && self.limit.may_go_on() {
            at -= 1;
            if at >= self.segments.len() {
                continue;
            }
            for moved in self.moves(at) {
                if let Some(better) = self.improve(&moved, evaluator) {
                    self.segments = better;
                    improved = true;
                    break;
                }
            }
        }
        improved
    }

    fn thread(&self, at: usize) -> ThreadId {
        self.model.owner(self.segments[at][0])
    }

    /// What can be done with a segment.
    fn moves(&self, at: usize) -> Vec<Vec<Vec<StepId>>> {
        let thread = self.thread(at);
        let later = (at + 1..self.segments.len()).find(|j| self.thread(*j) == thread);
        let Some(later) = later else {
            let mut dropped = self.segments.clone();
            dropped.remove(at);
            return vec![dropped];
        };
        let mut up = self.segments.clone();
        let segment = up.remove(later);
        up[at].extend(segment);
        let mut down = self.segments.clone();
        let segment = down.remove(at);
        down[later - 1].splice(0..0, segment);
        vec![up, down]
    }

    /// The segments of an order that fails with fewer switches.
    fn improve(
        &mut self,
        moved: &[Vec<StepId>],
        evaluator: &mut Evaluator<'_>,
    ) -> Option<Vec<Vec<StepId>>> {
        let order = [moved.concat(), self.requests.clone()].concat();
        self.left = self.left.saturating_sub(order.len());
        self.evaluated += 1;
        let fails = match evaluator.evaluate(&order) {
            Verdict::Fails { .. } => true,
            Verdict::Leaves { check, passed: false, .. } => (self.same)(check),
            Verdict::Leaves { .. } | Verdict::Passes | Verdict::Blocked { .. } => false,
        };
        if !fails {
            return None;
        }
        // What comes after the failure does not happen.
        let segments = split(self.model, evaluator.performed());
        (segments.len() < self.segments.len()).then_some(segments)
    }
}

/// The segments of an order.
fn split(model: &Model, order: &[StepId]) -> Vec<Vec<StepId>> {
    let mut segments: Vec<Vec<StepId>> = Vec::new();
    for step in order {
        match segments.last_mut() {
            Some(last) if model.owner(last[0]) == model.owner(*step) => last.push(*step),
            _ => segments.push(vec![*step]),
        }
    }
    segments
}
