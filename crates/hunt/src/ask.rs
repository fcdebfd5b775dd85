//! Asks for an order of a combination's steps that reaches a target.
//!
//! `Φ_fail` of Symbiosis (thesis equation 4.1) over threads that need not come from one run. The solver is anchored at the
//! order the threads were observed in. Long traces are walked through at random first: most bugs in them need no search. What the
//! solver does not answer soon is looked for near that order ([`crate::nearby`]): it is slow where many orders of the same updates
//! have to be ruled out one by one.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use unravel_solve::{Answer, Bounds, Evaluator, Model, Query, Solver, StepId, Verdict, Wish};
use unravel_trace::{Bug, Combined, Exprs, InputCell, Rng};

use crate::budgets::SHORT;
use crate::cut::{Cut, cut};
use crate::nearby::nearby;
use crate::targets::Target;
use crate::values::Values;
use crate::walk::walk;

/// How long one question may take.
#[derive(Clone, Copy, Debug)]
pub struct Patience {
    pub conflicts: u64,
    pub time: Duration,
    /// Random walks through a long trace before the solver is asked.
    pub walks: u64,
    /// Steps that are evaluated near the observed order if the solver does not know.
    pub nearby: u64,
    /// It was not asked before.
    pub is_first: bool,
}

impl Patience {
    /// This part of it.
    pub fn divided(self, by: u64) -> Patience {
        let Patience { conflicts, walks, nearby, .. } = self;
        Patience { conflicts: conflicts / by, walks: walks / by, nearby: nearby / by, ..self }
    }
}

/// An order that reaches the target, in the model.
#[derive(Debug)]
pub struct Promise {
    pub cut: Cut,
    pub model: Model,
    pub order: Vec<StepId>,
    /// Inputs, and what they have to be.
    pub inputs: Vec<(InputCell, u64)>,
}

/// What the solver says.
#[derive(Debug)]
pub enum Asked {
    Promised(Box<Promise>),
    /// No order of these steps reaches the target: proved.
    Never,
    Unknown(String),
}

/// The combination as far as it matters to a target. `None` if data flow alone rules the target out there: what the failing
/// thread would have written later, nobody reads.
pub fn prepare(combined: &Combined, exprs: &Exprs, target: &Target) -> Option<Cut> {
    let cut = cut(combined, exprs, &target.failing);
    if let Bug::Condition { fails, .. } = cut.symbolic.bug {
        let values = Values::of(&cut.symbolic);
        if !values.may_hold(&cut.symbolic.exprs, fails) {
            return None;
        }
    }
    Some(cut)
}

/// Asks for an order: the solver where the trace is short, chance before it where it is long.
pub fn ask(
    cut: Cut,
    solver: &mut dyn Solver,
    patience: Patience,
    interrupted: &AtomicBool,
) -> Asked {
    let mut model = match Model::new(&cut.trace, &cut.symbolic) {
        Ok(model) => model,
        Err(error) => return Asked::Unknown(error.to_string()),
    };
    let walkable = !model.is_deadlock() && cut.symbolic.inputs.is_empty();
    if walkable && model.len() > SHORT {
        let walks = (0..patience.walks).filter(|_| !interrupted.load(Ordering::Relaxed));
        for number in walks {
            if let Some(order) = walk(&model, Rng::new(Rng::derive(11, number))) {
                let inputs = Vec::new();
                return Asked::Promised(Box::new(Promise { cut, model, order, inputs }));
            }
        }
    }
    let near: Vec<StepId> = model.steps().collect();
    let bounds = Bounds {
        conflicts: Some(patience.conflicts),
        time: Some(patience.time),
        interrupt: Some(interrupted),
    };
    let query = Query { bounds, near: Some(&near), ..Query::new(&model, Wish::Fails) };
    match solver.find(&query) {
        Answer::No => Asked::Never,
        Answer::Unknown { reason, .. } => {
            let found = if walkable { nearby(&model, patience.nearby) } else { None };
            match found {
                Some(order) => {
                    Asked::Promised(Box::new(Promise { cut, model, order, inputs: Vec::new() }))
                }
                None => Asked::Unknown(reason),
            }
        }
        Answer::Yes(found) => {
            for (cell, value) in &found.initial {
                model.set_initial(*cell, *value);
            }
            if !matches!(Evaluator::new(&model).evaluate(&found.order), Verdict::Fails { .. }) {
                return Asked::Unknown("the solver's order does not fail in the model".to_owned());
            }
            let inputs = inputs(&model, &cut);
            Asked::Promised(Box::new(Promise { cut, model, order: found.order, inputs }))
        }
    }
}

/// What the solver took the inputs to be: 0 where it did not care, as evaluation has it.
fn inputs(model: &Model, cut: &Cut) -> Vec<(InputCell, u64)> {
    let value = |input: &InputCell| {
        let range = input.address..input.address + u64::from(input.bytes);
        let cells = model.cells().map(|cell| (model.cell_range(cell).0, model.initial(cell)));
        let mut parts = cells.filter(|(address, _)| range.contains(address)).peekable();
        match parts.peek() {
            // Nobody asked for it yet.
            None => input.value,
            Some(_) => parts.fold(0, |value, (address, known)| {
                value | (known.unwrap_or(0) as u64) << (8 * (address - input.address))
            }),
        }
    };
    cut.symbolic.inputs.iter().map(|input| (input.clone(), value(input))).collect()
}
