//! Longer traces of the shapes that are hard for solvers: their proofs are accepted, in about the time they take.

use std::time::{Duration, Instant};

use unravel_certify::Certifying;
use unravel_solve::generate::{
    Generated, atomic_counter, counter, distant, hot, large, unordered, waiting,
};
use unravel_solve::{Bounds, Goal, Model, Query, Solver, Weights, Wish};

fn proofs(name: &str, generated: &Generated) -> u64 {
    let model = Model::new(&generated.trace, &generated.symbolic).expect("a consistent trace");
    let (mut solver, ledger) = Certifying::new(None).expect("nothing is written");
    let bounds = Bounds { conflicts: Some(2_000), ..Bounds::default() };
    let begun = Instant::now();
    let observed = model.observed();
    let near = observed.as_deref();
    let query = Query { near, bounds, ..Query::new(&model, Wish::Passes) };
    if near.is_some() {
        let flows = Weights { data_flow: 1, segments: 0, switches: 0 };
        let _ = solver.nearest(&query, Goal::Sum(flows));
        let _ = solver.nearest(&query, Goal::Lexicographic);
    }
    let _ = solver.find(&Query { bounds, ..Query::new(&model, Wish::Fails) });
    let taken: Duration = begun.elapsed();
    let ledger = ledger.borrow();
    let (steps, accepted) = (model.len(), ledger.accepted());
    println!("{name}, {steps} steps: {accepted} proofs, {} lines, {taken:?}", ledger.lines);
    assert!(ledger.refused.is_empty(), "{name}: {:?}", ledger.refused);
    assert!(ledger.trusted.is_empty(), "{name}: {:?}", ledger.trusted);
    accepted
}

#[test]
fn every_shape_is_certified() {
    let mut accepted = 0;
    for seed in 0..3 {
        accepted += proofs("large", &large(600, 4, seed));
        accepted += proofs("counter", &counter(3, 12, 2, seed));
        accepted += proofs("atomic counter", &atomic_counter(3, 16, seed));
        accepted += proofs("hot", &hot(200, 3, seed));
        accepted += proofs("distant", &distant(400, 200, 3, seed));
        accepted += proofs("waiting", &waiting(300, 4, seed));
        proofs("unordered", &unordered(80, 3, seed));
    }
    assert!(accepted > 20, "{accepted}");
}
