//! How an order that a solver found really ends, and how far it is.

use crate::{Cell, Evaluator, Found, Model, Query, StepId, Verdict, Wish, criteria};

/// The model with the initial values that were found.
pub(crate) fn with_initial(model: &Model, initial: &[(Cell, u128)]) -> Option<Model> {
    (!initial.is_empty()).then(|| {
        let mut changed = model.clone();
        initial.iter().for_each(|(cell, value)| changed.set_initial(*cell, *value));
        changed
    })
}

pub(crate) fn is_as_wished(verdict: Verdict, wish: Wish) -> bool {
    match wish {
        Wish::Fails => matches!(verdict, Verdict::Fails { .. }),
        Wish::Passes => verdict == Verdict::Passes,
    }
}

/// The distance of an order, if it ends as wished.
pub(crate) fn measured(
    query: &Query<'_>,
    near: &[StepId],
    found: Found,
) -> Option<(Vec<StepId>, criteria::Distance)> {
    let mut known = Evaluator::new(query.model);
    known.evaluate(near);
    let near_flows = criteria::flows(query.model, &known);
    let changed = with_initial(query.model, &found.initial);
    let model = changed.as_ref().unwrap_or(query.model);
    let mut evaluator = Evaluator::new(model);
    let verdict = evaluator.evaluate(&found.order);
    let flows = criteria::flows(model, &evaluator);
    let performed = evaluator.performed();
    let cost = criteria::distance(model, near, &near_flows, performed, &flows);
    is_as_wished(verdict, query.wish).then_some((found.order, cost))
}
