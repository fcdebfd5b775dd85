//! The encoding as a whole: order variables, program order, one family of constraints after the other, the path and
//! the wish.
//!
//! Program order, forks and joins hold for all steps: `o1 < o2` for two steps of a thread, `fork < start`,
//! `exit < join`. All else holds for steps that are executed. Where a run ends early, at its failure, steps after
//! the end are free: [`Constraints::after_end`].
//!
//! After Symbiosis (§3.3, figure 2d): an integer a step, the conjunction of all families. Deviates as the families say; where it
//! errs, an order that it allows is refused by evaluation, which every answer passes.

use unravel_trace::Bug;

use super::expressions::Expressions;
use super::text::{END, Script, place_name};
use crate::constraints::{Constraints, End, Formula, NoEncoding, Point};
use crate::{
    Before, Cell, Evaluator, Goal, Model, Op, Query, SlotId, Source, SyncFamily, SyncId, Wish,
};

/// What is asked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Question {
    Find,
    Core,
    Nearest(Goal),
}

/// A query as text.
#[derive(Clone, Debug)]
pub(crate) struct Encoding {
    /// Declarations and assertions, without options and without a command that checks them.
    pub text: String,
    /// Cells whose unknown initial value matters: the constants `i<cell>`.
    pub initial: Vec<Cell>,
    /// What a violation of each criterion weighs.
    pub weights: [u64; 3],
}

pub(crate) fn encode(query: &Query<'_>, question: Question) -> Result<Encoding, NoEncoding> {
    let mut encoder = Encoder::new(query);
    encoder.order();
    encoder.kept(query);
    if question == Question::Core {
        encoder.assumed(&query.assume);
    }
    encoder.memory();
    encoder.families()?;
    encoder.path();
    encoder.wish()?;
    let mut weights = [0; 3];
    if let Question::Nearest(goal) = question {
        let near = query.near.ok_or(NoEncoding("there is no schedule to be near to".to_owned()))?;
        weights = encoder.nearness(near, goal);
    }
    Ok(Encoding { text: encoder.script.text, initial: encoder.initial, weights })
}

/// Sync objects in the order of the text, under these words.
const FAMILIES: [(&str, &[SyncFamily]); 4] = [
    ("locks", &[SyncFamily::Lock]),
    ("condition variables", &[SyncFamily::Cond]),
    ("semaphores and barriers", &[SyncFamily::Semaphore, SyncFamily::Barrier]),
    ("once", &[SyncFamily::Once]),
];

/// Builds the text.
#[derive(Debug)]
pub(crate) struct Encoder<'q> {
    pub model: &'q Model,
    pub constraints: Constraints<'q>,
    pub script: Script,
    pub expressions: Expressions<'q>,
    /// By slot: it matters which value it has.
    pub relevant: Vec<bool>,
    /// By slot: its candidates, each with the formula that says it is the source.
    pub sources: Vec<Vec<(Source, Formula)>>,
    pub initial: Vec<Cell>,
}

impl<'q> Encoder<'q> {
    fn new(query: &Query<'q>) -> Encoder<'q> {
        let model = query.model;
        Encoder {
            model,
            constraints: Constraints::new(model, query.wish),
            script: Script::default(),
            expressions: Expressions::new(model.exprs()),
            relevant: vec![false; model.reads().len()],
            sources: vec![Vec::new(); model.reads().len()],
            initial: Vec::new(),
        }
    }

    fn order(&mut self) {
        let model = self.model;
        self.script.comment("places of steps, program order, forks and joins");
        for step in model.steps() {
            self.script.declare(&place_name(step), "Int");
        }
        if self.constraints.end == End::Grant {
            self.script.declare(END, "Int");
        }
        for step in model.steps() {
            if let Some(next) = model.thread_steps(model.owner(step)).get(model.place(step) + 1) {
                self.script.assert_fixed(step, *next);
            }
        }
        for (step, cause) in model.causes() {
            self.script.assert_fixed(cause, step);
        }
    }

    fn kept(&mut self, query: &Query<'_>) {
        self.script.comment("orders that are kept");
        for kept in query.kept() {
            let formula = self.constraints.before(kept.first, kept.second);
            self.script.assert(&formula);
        }
        for orders in &query.blocked {
            let opposite =
                Formula::or(orders.iter().map(|o| self.constraints.before(o.second, o.first)));
            self.script.assert(&opposite);
        }
    }

    fn assumed(&mut self, assumptions: &[Before]) {
        self.script.comment("assumptions");
        for (index, order) in assumptions.iter().enumerate() {
            let formula = self.constraints.before(order.first, order.second);
            let name = assumption_name(index);
            self.script.declare(&name, "Bool");
            self.script.assert_unless(&formula, &format!("(not {name})"));
        }
    }

    fn families(&mut self) -> Result<(), NoEncoding> {
        for (words, families) in FAMILIES {
            self.script.comment(words);
            for (index, object) in self.model.syncs().iter().enumerate() {
                if families.contains(&object.family) {
                    self.assert_all(self.constraints.of(SyncId(index as u32))?);
                }
            }
        }
        Ok(())
    }

    fn assert_all(&mut self, formulas: Vec<Formula>) {
        formulas.iter().for_each(|formula| self.script.assert(formula));
    }

    fn path(&mut self) {
        self.script.comment("the path");
        for step in self.model.steps() {
            for position in self.model.op_range(step) {
                let Op::Check(check) = self.model.ops[position] else { continue };
                let at = Point { step, position: position as u32 };
                let unexecuted = self.constraints.check_guard(check, at);
                if unexecuted != Formula::True {
                    let holds = self.model.check(check).holds;
                    let term = self.expressions.term(&mut self.script, holds);
                    self.script.assert_unless(&unexecuted, &format!("(= {term} #b1)"));
                }
            }
        }
    }

    fn wish(&mut self) -> Result<(), NoEncoding> {
        self.script.comment("the wish");
        match (self.model.bug(), self.constraints.wish) {
            (Bug::Condition { fails, .. }, wish) => {
                let term = self.expressions.term(&mut self.script, *fails);
                let bit = if wish == Wish::Fails { "#b1" } else { "#b0" };
                self.script.assert_unless(&Formula::False, &format!("(= {term} {bit})"));
            }
            (Bug::Reached { .. }, Wish::Fails) => {}
            (Bug::Reached { .. }, Wish::Passes) => self.script.assert(&Formula::False),
            (Bug::Deadlock { .. }, Wish::Fails) => self.assert_all(self.constraints.refused()?),
            (Bug::Deadlock { .. }, Wish::Passes) => self.assert_all(self.constraints.granted()?),
            (Bug::Opaque, wish) => self.same_or_not(wish),
            (Bug::None, _) => return Err(NoEncoding("the run did not fail".to_owned())),
        }
        Ok(())
    }

    /// The recorded order in all that matters, or another.
    fn same_or_not(&mut self, wish: Wish) {
        let (mut same, mut other) = (Vec::new(), Vec::new());
        if let Some(observed) = self.model.observed() {
            let mut evaluator = Evaluator::new(self.model);
            evaluator.evaluate(&observed);
            for (index, source) in evaluator.sources().iter().copied().enumerate() {
                let selectors = self.selectors(SlotId(index as u32));
                let (mine, others): (Vec<_>, Vec<_>) =
                    selectors.into_iter().partition(|(s, _)| *s == source);
                same.push(Formula::or(mine.into_iter().map(|(_, selected)| selected)));
                other.extend(others.into_iter().map(|(_, selected)| selected));
            }
        }
        let formula = match wish {
            Wish::Fails => Formula::and(same.into_iter().chain([self.constraints.same()])),
            Wish::Passes => Formula::or(other.into_iter().chain([self.constraints.other()])),
        };
        self.script.assert(&formula);
    }
}

pub(crate) fn assumption_name(index: usize) -> String {
    format!("a{index}")
}
