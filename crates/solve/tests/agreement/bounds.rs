//! Bounds: without an answer there is a reason, and what is known by then.

use std::sync::atomic::AtomicBool;
use std::time::Duration;

use unravel_solve::generate::counter;
use unravel_solve::{Answer, Bounds, Goal, Model, Nearest, Query, SolverChoice, StepId, Wish};

use crate::minima::counted;
use crate::traces::demand;

/// Half of forty updates of one counter are lost: what to do about it is hard to find, harder to prove.
fn hard() -> (Model, Vec<StepId>) {
    let generated = counter(6, 40, 20, 1);
    let model = Model::new(&generated.trace, &generated.symbolic).expect("a consistent trace");
    let observed = model.observed().expect("it was observed");
    (model, observed)
}

/// The reasons for which a solver has no answer to any of the questions.
fn reasons(choice: SolverChoice, bounds: Bounds<'_>) -> Vec<String> {
    let (model, observed) = hard();
    let assume = model.conflicts_along(&observed);
    let near = Some(observed.as_slice());
    let query = Query { near, assume, bounds, ..Query::new(&model, Wish::Passes) };
    let find = Query { assume: Vec::new(), ..query.clone() };
    vec![
        reason(choice.make().find(&find)),
        reason(choice.make().core(&query)),
        reason(choice.make().minimal_core(&query)),
        reason(choice.make().nearest(&find, Goal::Lexicographic)),
    ]
}

fn reason<T: std::fmt::Debug>(answer: Answer<T>) -> String {
    match answer {
        Answer::Unknown { reason, .. } => reason,
        other => panic!("an answer within the bounds: {other:?}"),
    }
}

/// Of ours alone: Z3 may miss that no time is left. What it does with a little, its own tests say.
#[test]
fn no_time_is_no_answer() {
    let bounds = Bounds { time: Some(Duration::ZERO), ..Bounds::default() };
    let reasons = reasons(SolverChoice::Orders, bounds);
    assert!(reasons.iter().all(|reason| reason.contains("time limit")), "{reasons:?}");
}

pub fn an_interrupt_is_no_answer(choice: SolverChoice) {
    let flag = AtomicBool::new(true);
    let bounds = Bounds { interrupt: Some(&flag), ..Bounds::default() };
    let reasons = reasons(choice, bounds);
    assert!(reasons.iter().all(|reason| reason.contains("interrupted")), "{reasons:?}");
}

pub fn few_conflicts_end_the_same_way_every_time(choice: SolverChoice) {
    let (model, observed) = hard();
    let bounds = Bounds { conflicts: Some(30), ..Bounds::default() };
    let near = Some(observed.as_slice());
    let query = Query { near, bounds, ..Query::new(&model, Wish::Passes) };
    let goal = Goal::Lexicographic;
    let first = choice.make().nearest(&query, goal);
    assert_eq!(first, choice.make().nearest(&query, goal), "{choice}");
    let Answer::Unknown { reason, best } = first else { panic!("{choice}: {first:?}") };
    assert!(reason.contains("limit of conflicts"), "{reason}");
    if let Some(Nearest { order, cost, bound }) = &best {
        demand(&model, Wish::Passes, order, "the best by then");
        assert!(*bound <= counted(goal, *cost), "{choice}: {bound:?}, {cost:?}");
    }
    if choice == SolverChoice::Orders {
        // A passing order is found by evaluation, before anything is proved.
        assert!(best.is_some(), "nothing is known");
    }
}
