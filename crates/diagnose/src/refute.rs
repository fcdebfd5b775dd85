//! Refuting a root cause with a solver: a schedule on the recorded path that keeps all its orders and passes, or the
//! proof that there is none.
//!
//! An order of a point that the recorded path lacks is not asked for: nothing on the path can be said to break it.
//! What the solver finds is tried before it counts. A deadlock is refuted this way, but nothing is proved of it:
//! the solver takes a step that is never executed to come last, here it breaks nothing.

use unravel_solve::{Answer, Before, Bounds, Evaluator, Model, Query, Solver, StepId, Wish};
use unravel_trace::{Key, Schedule, Trace, VisibleSet};

use crate::budgets::{EASY, MAX_LONG_QUERIES, MAX_QUERIES};
use crate::modelled::schedule;
use crate::root_cause::Refuter;
use crate::world::{Order, World};

/// Asks a solver about the recorded path.
pub struct PathRefuter<'a> {
    pub model: &'a Model,
    /// Of the failing run.
    pub trace: &'a Trace,
    pub visible: &'a VisibleSet,
    pub solver: &'a mut dyn Solver,
    pub bounds: Bounds<'a>,
    /// Asked so far.
    pub queries: u64,
    /// The orders of the last question if no schedule on the path keeps them and passes.
    pub proved: Option<Vec<Order>>,
}

/// Knows nothing.
pub struct NoRefuter;

impl Refuter for NoRefuter {
    fn refute(&mut self, _: &dyn World, _: &[Order]) -> Option<Schedule> {
        None
    }
}

impl Refuter for PathRefuter<'_> {
    fn refute(&mut self, world: &dyn World, orders: &[Order]) -> Option<Schedule> {
        self.proved = None;
        let (steps, limit) = (self.model.len(), self.solver.proves_up_to());
        let most = if steps > limit / EASY { MAX_LONG_QUERIES } else { MAX_QUERIES };
        if steps > limit || self.queries >= most {
            return None;
        }
        // The points of the failing run are the steps of the model.
        let place = |key: Key| world.failing().iter().position(|p| p.key == key);
        let step = |key: Key| place(key).map(|at| StepId(at as u32));
        let on_path =
            |(first, second): &Order| Some(Before { first: step(*first)?, second: step(*second)? });
        let query = Query {
            keep: orders.iter().filter_map(on_path).collect(),
            bounds: self.bounds,
            ..Query::new(self.model, Wish::Passes)
        };
        self.queries += 1;
        match self.solver.find(&query) {
            Answer::Yes(found) => {
                let mut evaluator = Evaluator::new(self.model);
                evaluator.evaluate(&found.order);
                let choices = evaluator.choices().to_vec();
                let performed = evaluator.performed();
                Some(schedule(self.model, self.trace, performed, choices, self.visible))
            }
            Answer::No => {
                self.proved = (!self.model.is_deadlock()).then(|| orders.to_vec());
                None
            }
            Answer::Unknown { .. } => None,
        }
    }
}
