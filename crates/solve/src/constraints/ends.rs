//! Where a run ends, and what comes after it.
//!
//! - A failure ends the run: in an order that fails, what comes after the step that decides the bug is not executed
//!   and need not be possible. All constraints of such a step s are guarded by `bug < s`.
//! - A deadlock that is avoided: one request is granted where it stands, and what comes after it is not executed.
//! - A condition of the path need not hold if it is not executed; one over reads of several threads (imported traces)
//!   if one of these reads is not.

use unravel_trace::{Bug, ExprId};

use super::{Atom, Constraints, Formula, Point};
use crate::{CheckId, Model, Op, SlotId, StepId, Wish};

/// Where a run ends before all steps are executed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum End {
    Never,
    /// When all of these steps are executed; in the middle of the only one, after this op.
    After {
        steps: Vec<StepId>,
        position: Option<u32>,
    },
    /// Where a request is granted.
    Grant,
}

impl End {
    pub fn of(model: &Model, wish: Wish) -> End {
        match (model.bug(), wish) {
            (Bug::Condition { .. } | Bug::Reached { .. }, Wish::Fails) => {
                let Some(bug) = model.bug_step() else { return End::Never };
                if let (true, Some(fails)) = (model.is_bug_deferred(), model.bug_condition()) {
                    let mut steps = reading_steps(model, fails);
                    steps.push(bug);
                    steps.sort();
                    steps.dedup();
                    return End::After { steps, position: None };
                }
                let position = model.op_range(bug).find(|at| model.ops[*at] == Op::Bug);
                End::After { steps: vec![bug], position: position.map(|at| at as u32) }
            }
            (Bug::Deadlock { .. }, Wish::Passes) => End::Grant,
            _ => End::Never,
        }
    }
}

/// The steps whose reads an expression depends on.
pub(crate) fn reading_steps(model: &Model, expression: ExprId) -> Vec<StepId> {
    let symbols = model.exprs().symbols(expression);
    let slots = symbols.into_iter().flat_map(|symbol| model.slots_of(symbol));
    slots.map(|slot| model.read(SlotId(slot)).step).collect()
}

impl Constraints<'_> {
    /// The op is not executed.
    pub fn after_end(&self, at: Point) -> Formula {
        match &self.end {
            End::Never => Formula::False,
            End::After { steps, position } => {
                if steps.contains(&at.step) {
                    return Formula::known(position.is_some_and(|end| at.position > end));
                }
                Formula::and(steps.iter().map(|last| self.before(*last, at.step)))
            }
            End::Grant => Formula::Is(Atom::AfterGrant(at.step)),
        }
    }

    /// A condition of the path need not hold: it is not executed. `True` if no order needs it.
    pub fn check_guard(&self, check: CheckId, at: Point) -> Formula {
        let mut unexecuted = vec![self.after_end(at)];
        if self.model.is_deferred(check) {
            let steps = reading_steps(self.model, self.model.check(check).holds);
            if let End::After { steps: last, position: Some(_) } = &self.end
                && (last.contains(&at.step) || steps.iter().any(|step| last.contains(step)))
            {
                // It would be decided when the failing step is over, which it never is.
                return Formula::True;
            }
            for step in steps {
                let position = self.model.op_range(step).start as u32;
                unexecuted.push(self.after_end(Point { step, position }));
            }
        }
        Formula::or(unexecuted)
    }
}
