//! What is known to be possible is never said to be impossible, however long the trace and whatever was asked before.
//!
//! Brute force and Z3 end where traces get long; there an order that exists is the witness. Every answer of a solver,
//! and the recorded order, is asked for again with all its orders kept: by the same solver, which has learnt from all
//! the queries in between.

use unravel_solve::generate::{
    Generated, atomic_counter, counter, distant, forget_order, hot, large, waiting,
};
use unravel_solve::{
    Answer, Before, Bounds, Evaluator, Goal, Model, Orders, Query, Solver, StepId, Verdict,
    Weights, Wish,
};
use unravel_trace::Rng;

/// Conflicts that one query may take: then it says nothing, which is not wrong.
const CONFLICTS: u64 = 1_500;

fn family(seed: u64) -> Generated {
    let mut rng = Rng::new(seed);
    let mut between = |from: u32, to: u32| (from + rng.below(to - from)) as usize;
    match seed % 6 {
        0 => large(between(200, 600), 4, seed),
        1 => waiting(between(150, 400), 4, seed),
        2 => hot(between(40, 400), 4, seed),
        3 => distant(between(200, 500), 80, 4, seed),
        4 => counter(4, between(10, 30), 2, seed),
        _ => atomic_counter(4, between(10, 40), seed),
    }
}

/// All consecutive pairs: nothing but this order.
fn exactly(order: &[StepId]) -> Vec<Before> {
    order.windows(2).map(|pair| Before { first: pair[0], second: pair[1] }).collect()
}

fn wish_of(model: &Model, order: &[StepId]) -> Wish {
    match Evaluator::new(model).evaluate(order) {
        Verdict::Fails { .. } => Wish::Fails,
        Verdict::Passes => Wish::Passes,
        other => panic!("an answer that does not end: {other:?}"),
    }
}

/// Asks all kinds of questions; the orders that come back.
fn ask(solver: &mut Orders, model: &Model, near: &[StepId], rng: &mut Rng) -> Vec<Vec<StepId>> {
    let bounds = Bounds { conflicts: Some(CONFLICTS), ..Bounds::default() };
    let mut found = Vec::new();
    for wish in [Wish::Fails, Wish::Passes] {
        let query = Query { bounds, near: Some(near), ..Query::new(model, wish) };
        if let Answer::Yes(order) = solver.find(&Query { near: None, ..query.clone() }) {
            found.push(order.order);
        }
        let assume: Vec<Before> =
            model.conflicts_along(near).into_iter().filter(|_| rng.below(3) > 0).collect();
        solver.core(&Query { assume, ..query.clone() });
        for goal in [
            Goal::Sum(Weights { data_flow: 1, segments: 0, switches: 0 }),
            Goal::Sum(Weights { data_flow: 1, segments: 1, switches: 1 }),
        ] {
            match solver.nearest(&query, goal) {
                Answer::Yes(nearest) | Answer::Unknown { best: Some(nearest), .. } => {
                    found.push(nearest.order);
                }
                _ => {}
            }
        }
    }
    found
}

#[test]
fn stay_possible() {
    let mut asked = 0;
    for seed in 0..48 {
        let mut rng = Rng::new(seed);
        let run = family(seed);
        // With the order as it was, and without.
        let (forgotten, original) = forget_order(&run);
        let observed: Vec<StepId> = (0..original.len() as u32).map(StepId).collect();
        for (generated, witness) in [(&run, observed), (&forgotten, original)] {
            let model = Model::new(&generated.trace, &generated.symbolic).expect("consistent");
            let mut solver = Orders::new();
            let mut known = vec![witness.clone()];
            known.extend(ask(&mut solver, &model, &witness, &mut rng));
            for order in &known {
                let wish = wish_of(&model, order);
                for near in [Some(witness.as_slice()), None] {
                    let keep = exactly(order);
                    let query = Query { keep, near, ..Query::new(&model, wish) };
                    let again = solver.find(&query);
                    assert!(matches!(again, Answer::Yes(_)), "seed {seed}, {wish:?}: {again:?}");
                    asked += 1;
                }
            }
        }
    }
    assert!(asked > 500, "{asked}");
}
