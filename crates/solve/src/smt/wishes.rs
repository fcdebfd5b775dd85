//! Conditions of the path, the bug, and where a run ends.
//!
//! - A failure ends the run: in an order that fails, what comes after the step that decides the bug is not executed
//!   and need not be possible. All constraints of such a step s are guarded by `bug < s`.
//! - A deadlock: its requests are refused for ever. For a lock, some section that never ends began before the
//!   request: `⋁ L < q`. All other requests come after everything else that is done with their sync object.
//! - A deadlock avoided: one request q is granted where it stands, and what comes after it is not executed.
//!   With `T1: a b` and `T2: b a`, both blocked at their second lock, it passes if T1 asks for b before T2 takes it.
//! - What only execution can tell: the recorded order fails, every other complete one passes; orders are the same if
//!   they agree in their reads-from, in operations on sync objects that do not commute and in external calls.
//!
//! *Approximated*: a lock request that one section holds up and then another, of which only the second lasts, is
//! taken to stand after the beginning of the lasting one.

use unravel_trace::Bug;

use super::encode::{Encoder, NoEncoding, Point};
use super::text::Formula;
use crate::{CheckId, Evaluator, Model, Op, SlotId, StepId, Wish};

/// Where a run ends before all steps are executed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum End {
    Never,
    /// When all of these steps are executed; in the middle of the only one, after this op.
    After {
        steps: Vec<StepId>,
        position: Option<u32>,
    },
    /// At the place `end`, where a request is granted.
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
fn reading_steps(model: &Model, expression: unravel_trace::ExprId) -> Vec<StepId> {
    let symbols = model.exprs().symbols(expression);
    let slots = symbols.into_iter().flat_map(|symbol| model.slots_of(symbol));
    slots.map(|slot| model.read(SlotId(slot)).step).collect()
}

impl Encoder<'_> {
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
            End::Grant => Formula::Text(format!("(< end o{})", at.step.0)),
        }
    }

    pub fn wish(&mut self) -> Result<(), NoEncoding> {
        self.script.comment("the path");
        for step in self.model.steps() {
            for position in self.model.op_range(step) {
                if let Op::Check(check) = self.model.ops[position] {
                    self.check(check, Point { step, position: position as u32 });
                }
            }
        }
        self.script.comment("the wish");
        match (self.model.bug().clone(), self.wish) {
            (Bug::Condition { fails, .. }, wish) => {
                let term = self.expressions.term(&mut self.script, fails);
                let bit = if wish == Wish::Fails { "#b1" } else { "#b0" };
                self.script.assert(&Formula::Text(format!("(= {term} {bit})")));
            }
            (Bug::Reached { .. }, Wish::Fails) => {}
            (Bug::Reached { .. }, Wish::Passes) => self.script.assert(&Formula::False),
            (Bug::Deadlock { .. }, Wish::Fails) => {
                for request in self.request_steps() {
                    let refused = request.iter().map(|(at, op)| self.refused(*at, *op));
                    let refused = refused.collect::<Result<Vec<_>, _>>()?;
                    self.script.assert(&Formula::or(refused));
                }
            }
            (Bug::Deadlock { .. }, Wish::Passes) => self.one_granted()?,
            (Bug::Opaque, wish) => self.same_or_not(wish),
            (Bug::None, _) => return Err(NoEncoding("the run did not fail".to_owned())),
        }
        Ok(())
    }

    fn check(&mut self, check: CheckId, at: Point) {
        let holds = self.model.check(check).holds;
        let mut unexecuted = vec![self.after_end(at)];
        if self.model.is_deferred(check) {
            let steps = reading_steps(self.model, holds);
            if let End::After { steps: last, position: Some(_) } = &self.end
                && (last.contains(&at.step) || steps.iter().any(|step| last.contains(step)))
            {
                // It would be decided when the failing step is over, which it never is.
                return;
            }
            for step in steps {
                let position = self.model.op_range(step).start as u32;
                unexecuted.push(self.after_end(Point { step, position }));
            }
        }
        let unexecuted = Formula::or(unexecuted);
        if unexecuted == Formula::True {
            return;
        }
        let term = self.expressions.term(&mut self.script, holds);
        let formula = Formula::or([unexecuted, Formula::Text(format!("(= {term} #b1)"))]);
        self.script.assert(&formula);
    }

    /// The ops of each request.
    fn request_steps(&self) -> Vec<Vec<(Point, Op)>> {
        let same = |a: &(Point, Op), b: &(Point, Op)| a.0.step == b.0.step;
        self.requests.chunk_by(same).map(<[_]>::to_vec).collect()
    }

    fn one_granted(&mut self) -> Result<(), NoEncoding> {
        let mut any = Vec::new();
        for request in self.request_steps() {
            let Some((first, _)) = request.first().copied() else { continue };
            let granted = request.iter().map(|(at, op)| self.granted(*at, *op));
            let granted = Formula::and(granted.collect::<Result<Vec<_>, _>>()?);
            if granted == Formula::False {
                continue;
            }
            let name = format!("g{}", first.step.0);
            self.script.declare(&name, "Bool");
            let here = Formula::Text(format!("(= end o{})", first.step.0));
            let both = Formula::and([here, granted]);
            self.script.assert(&Formula::Text(format!("(=> {name} {both})")));
            any.push(Formula::Text(name));
        }
        self.script.assert(&Formula::or(any));
        Ok(())
    }

    fn granted(&self, at: Point, op: Op) -> Result<Formula, NoEncoding> {
        Ok(match op {
            Op::Acquire { lock, shared } if self.model.sync(lock).regular => {
                self.is_free(&self.spans(lock), at, shared)
            }
            Op::Acquire { lock, .. } => self.was_released(lock, at),
            Op::Wake { cond, .. } => self.was_woken(cond, at).0,
            Op::SemAcquire { semaphore } => {
                let uses = self.semaphore_uses(semaphore);
                Formula::or([self.is_positive(&uses, at), self.is_not_set_up(&uses, at)])
            }
            Op::Leave { barrier } => self.is_open(barrier, self.barrier_set_up(barrier)?.0, at),
            Op::OnceEnter { once, .. } => self.once_states(once, at).0,
            Op::Join { child } => match self.exit_of(child) {
                Some(exit) => self.before(exit, at.step),
                None => Formula::known(self.model.thread_steps(child).is_empty()),
            },
            _ => Formula::False,
        })
    }

    fn refused(&self, at: Point, op: Op) -> Result<Formula, NoEncoding> {
        let refused = match op {
            Op::Acquire { lock, shared } if self.model.sync(lock).regular => {
                let mut spans = self.spans(lock);
                spans.retain(|(span, _)| span.release.is_none());
                return Ok(self.is_held(&spans, at, shared));
            }
            Op::Acquire { lock, .. } => self.was_acquired(lock, at),
            Op::Wake { cond, .. } => self.was_woken(cond, at).1,
            Op::SemAcquire { semaphore } => self.is_zero(&self.semaphore_uses(semaphore), at),
            Op::Leave { barrier } => self.is_shut(barrier, self.barrier_set_up(barrier)?.0, at),
            Op::OnceEnter { once, .. } => self.once_states(once, at).1,
            Op::Join { child } => {
                let lives = !self.model.thread_steps(child).is_empty();
                Formula::known(lives && self.exit_of(child).is_none())
            }
            Op::Never => Formula::True,
            _ => Formula::False,
        };
        let uses = op.sync().map(|sync| self.uses[sync.index()].as_slice()).unwrap_or_default();
        let last = uses.iter().map(|(other, _)| self.ahead(*other, at));
        Ok(Formula::and(last.chain([refused])))
    }

    fn exit_of(&self, thread: unravel_trace::ThreadId) -> Option<StepId> {
        let mut steps = self.model.thread_steps(thread).iter().copied();
        steps.find(|step| self.model.program(*step).contains(&Op::Exit))
    }

    fn same_or_not(&mut self, wish: Wish) {
        let Some(observed) = self.model.observed() else {
            if wish == Wish::Fails {
                self.script.assert(&Formula::False);
            }
            return;
        };
        let mut same = Vec::new();
        let mut other = Vec::new();
        let mut evaluator = Evaluator::new(self.model);
        evaluator.evaluate(&observed);
        for (index, source) in evaluator.sources().iter().copied().enumerate() {
            let selectors = self.selectors(SlotId(index as u32));
            let (mine, others): (Vec<_>, Vec<_>) =
                selectors.into_iter().partition(|(s, _)| *s == source);
            same.push(Formula::or(mine.into_iter().map(|(_, selected)| selected)));
            other.extend(others.into_iter().map(|(_, selected)| selected));
        }
        // Together with program order these decide all the others.
        for (first, second) in self.model.sync_along(&observed) {
            same.push(self.before(first, second));
            other.push(self.before(second, first));
        }
        let formula = match wish {
            Wish::Fails => Formula::and(same),
            Wish::Passes => Formula::or(other),
        };
        self.script.assert(&formula);
    }
}
