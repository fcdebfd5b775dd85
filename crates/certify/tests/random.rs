//! Random tiny traces of every kind of event: every "no", core and bound of `orders` has a certificate, and it is
//! accepted.

use unravel_certify::{Certifying, Unchecked};
use unravel_solve::generate::{Tiny, tiny};
use unravel_solve::{Answer, Before, Goal, Model, Query, Solver, Weights, Wish};
use unravel_trace::Rng;

const GOALS: [Goal; 4] = [
    Goal::Lexicographic,
    Goal::Sum(Weights { data_flow: 1, segments: 0, switches: 0 }),
    Goal::Sum(Weights { data_flow: 1, segments: 1, switches: 1 }),
    Goal::Sum(Weights { data_flow: 3, segments: 0, switches: 2 }),
];

fn seeds() -> u64 {
    std::env::var("UNRAVEL_SEEDS").ok().and_then(|n| n.parse().ok()).unwrap_or(1_500)
}

fn model(seed: u64) -> Model {
    let (threads, events) = match seed % 8 {
        0 | 4 => (4, 10),
        3 => (3, 12),
        7 => (5, 12),
        _ => (3, 8),
    };
    let generated = tiny(seed, Tiny { threads, events, list_sync: seed.is_multiple_of(2) });
    Model::new(&generated.trace, &generated.symbolic).expect("a consistent trace")
}

#[test]
fn every_proof_is_accepted() {
    let mut total = unravel_certify::Ledger::default();
    let mut refused = 0;
    for seed in 0..seeds() {
        let model = model(seed);
        let observed = model.observed().expect("it was observed");
        let (mut solver, ledger) = Certifying::new(None).expect("nothing is written");
        let mut rng = Rng::new(seed);
        for wish in [Wish::Fails, Wish::Passes] {
            let _ = solver.find(&Query::new(&model, wish));
        }
        let mut assume = Vec::new();
        for (index, first) in observed.iter().enumerate() {
            for second in &observed[index + 1..] {
                if model.owner(*first) != model.owner(*second) && rng.below(3) > 0 {
                    assume.push(Before { first: *first, second: *second });
                }
            }
        }
        let keep: Vec<Before> = assume.iter().copied().filter(|_| rng.below(4) == 0).collect();
        let blocked = vec![keep.clone()];
        let query = Query { assume: assume.clone(), ..Query::new(&model, Wish::Passes) };
        let _ = solver.core(&query);
        let _ = solver.find(&Query { keep: assume, ..Query::new(&model, Wish::Passes) });
        let _ = solver.find(&Query { keep, blocked, ..Query::new(&model, Wish::Fails) });
        for goal in GOALS {
            let near = Some(observed.as_slice());
            let query = Query { near, ..Query::new(&model, Wish::Passes) };
            if let Answer::Unknown { reason, .. } = solver.nearest(&query, goal) {
                println!("seed {seed}, {goal:?}: {reason}");
            }
        }
        let ledger = ledger.borrow();
        for why in &ledger.refused {
            println!("seed {seed}: {why}");
        }
        refused += ledger.refused.len();
        total.none += ledger.none;
        total.cores += ledger.cores;
        total.bounds += ledger.bounds;
        total.lines += ledger.lines;
        total.partly += ledger.partly;
        for (rule, count) in &ledger.trusted {
            *total.trusted.entry(*rule).or_insert(0) += count;
        }
    }
    println!("{total:?}");
    assert_eq!(refused, 0);
    let at_least = |count: u64, of: u64| count * 1_500 >= of * seeds();
    assert!(at_least(total.none, 5_000) && at_least(total.cores, 1_000), "{total:?}");
    // Bounds of nothing are no claims, and not among them.
    assert!(at_least(total.bounds, 1_000), "{total:?}");
    // Only of deadlocks something is taken on trust here.
    let of_deadlocks = [Unchecked::Deadlock, Unchecked::DeadlockDistance];
    assert!(total.trusted.keys().all(|rule| of_deadlocks.contains(rule)), "{total:?}");
}
