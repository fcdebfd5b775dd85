//! Z3 against brute force on random tiny traces of every kind: the same satisfiability, the same minima, and cores
//! that no interleaving escapes. Every answer is evaluated.

use unravel_solve::brute::{self, Census, Ending};
use unravel_solve::generate::{Tiny, tiny};
use unravel_solve::{
    Answer, Before, Bounds, Evaluator, Goal, Model, Query, Solver, StepId, Verdict, Weights, Wish,
    Z3,
};
use unravel_trace::Rng;

/// More interleavings than this are too many for a test.
const LIMIT: usize = 3_000;

fn small(seed: u64) -> Option<(Model, Census)> {
    let like = Tiny { threads: 3, events: 8, list_sync: seed.is_multiple_of(2) };
    let like = if seed.is_multiple_of(4) { Tiny { threads: 4, events: 10, ..like } } else { like };
    let generated = tiny(seed, like);
    let model = Model::new(&generated.trace, &generated.symbolic).expect("a consistent trace");
    let census = brute::census(&model, LIMIT)?;
    Some((model, census))
}

fn query(model: &Model, wish: Wish) -> Query<'_> {
    let (keep, assume) = (Vec::new(), Vec::new());
    Query { model, wish, keep, assume, near: None, free: None, bounds: Bounds::default() }
}

fn ends_as_wished(model: &Model, wish: Wish, order: &[StepId]) -> bool {
    let mut all = order.to_vec();
    all.sort();
    assert!(all.iter().copied().eq(model.steps()), "a permutation of all steps");
    match Evaluator::new(model).evaluate(order) {
        Verdict::Fails { .. } => wish == Wish::Fails,
        Verdict::Passes => wish == Wish::Passes,
        _ => false,
    }
}

fn seeds() -> std::ops::Range<u64> {
    let count = std::env::var("UNRAVEL_SEEDS").ok().and_then(|n| n.parse().ok());
    0..count.unwrap_or(400)
}

#[test]
fn satisfiability() {
    let (mut yes, mut no) = (0, 0);
    for seed in seeds() {
        let Some((model, census)) = small(seed) else { continue };
        for wish in [Wish::Fails, Wish::Passes] {
            let expected = match wish {
                Wish::Fails => census.failing().next().is_some(),
                Wish::Passes => census.passing().next().is_some(),
            };
            match Z3::new().find(&query(&model, wish)) {
                Answer::Yes(found) => {
                    assert!(expected, "seed {seed}, {wish:?}: {:?}", found.order);
                    let good = ends_as_wished(&model, wish, &found.order);
                    assert!(good, "seed {seed}, {wish:?}: {:?}", found.order);
                    yes += 1;
                }
                Answer::No => {
                    assert!(!expected, "seed {seed}, {wish:?}: there is one");
                    no += 1;
                }
                Answer::Unknown { reason, .. } => panic!("seed {seed}, {wish:?}: {reason}"),
            }
        }
    }
    assert!(yes > 200 && no > 20, "{yes} yes, {no} no");
}

#[test]
fn minima() {
    let goals = [
        Goal::Lexicographic,
        Goal::Sum(Weights { data_flow: 1, segments: 1, switches: 1 }),
        Goal::Sum(Weights { data_flow: 3, segments: 0, switches: 2 }),
    ];
    let mut compared = 0;
    for seed in seeds() {
        let Some((model, census)) = small(seed) else { continue };
        let observed = model.observed().expect("it was observed");
        let mut query = query(&model, Wish::Passes);
        query.near = Some(&observed);
        for goal in goals {
            let (expected, found) = match (goal, Z3::new().nearest(&query, goal)) {
                (_, Answer::Unknown { reason, .. }) => panic!("seed {seed}, {goal:?}: {reason}"),
                (Goal::Lexicographic, found) => (census.lexicographic(&model, &observed), found),
                (Goal::Sum(w), found) => {
                    let sum = census.sum(&model, &observed, [w.data_flow, w.segments, w.switches]);
                    (sum.map(|sum| [sum, 0, 0]), found)
                }
            };
            let Answer::Yes(nearest) = found else {
                assert_eq!(expected, None, "seed {seed}, {goal:?}");
                continue;
            };
            let cost = match goal {
                Goal::Lexicographic => nearest.cost,
                Goal::Sum(w) => {
                    let [data_flow, segments, switches] = nearest.cost;
                    let of = data_flow * w.data_flow + segments * w.segments;
                    [of + switches * w.switches, 0, 0]
                }
            };
            assert!(ends_as_wished(&model, Wish::Passes, &nearest.order), "seed {seed}, {goal:?}");
            assert_eq!(Some(cost), expected, "seed {seed}, {goal:?}: {:?}", nearest.order);
            assert_eq!(nearest.bound, cost, "seed {seed}, {goal:?}: the bound");
            compared += 1;
        }
    }
    assert!(compared > 200, "{compared} compared");
}

/// Whether a performed order obeys; what it lacks comes after its end.
fn obeys(order: &[StepId], before: &Before) -> bool {
    let place = |step: StepId| order.iter().position(|s| *s == step);
    match (place(before.first), place(before.second)) {
        (Some(first), Some(second)) => first < second,
        (None, Some(_)) => false,
        (_, None) => true,
    }
}

#[test]
fn cores_leave_nothing() {
    let (mut cores, mut none) = (0, 0);
    for seed in seeds() {
        let Some((model, census)) = small(seed) else { continue };
        let observed = model.observed().expect("it was observed");
        let mut query = query(&model, Wish::Passes);
        let mut rng = Rng::new(seed);
        for (index, first) in observed.iter().enumerate() {
            for second in &observed[index + 1..] {
                if model.owner(*first) != model.owner(*second) && rng.below(3) > 0 {
                    query.assume.push(Before { first: *first, second: *second });
                }
            }
        }
        match Z3::new().core(&query) {
            Answer::Yes(core) => {
                let members: Vec<Before> = core.iter().map(|i| query.assume[*i]).collect();
                // A request that is granted and then goes another way is not performed.
                let told = |e: &&Ending| {
                    !model.is_deadlock() || e.order.last().is_some_and(|s| model.is_request(*s))
                };
                for passing in census.passing().filter(told) {
                    let all = members.iter().all(|before| obeys(&passing.order, before));
                    assert!(!all, "seed {seed}: {members:?} hold in {:?}", passing.order);
                }
                cores += 1;
            }
            Answer::No => {
                query.keep = std::mem::take(&mut query.assume);
                let Answer::Yes(found) = Z3::new().find(&query) else {
                    panic!("seed {seed}: no order although there is no core")
                };
                assert!(ends_as_wished(&model, Wish::Passes, &found.order), "seed {seed}");
                none += 1;
            }
            Answer::Unknown { reason, .. } => panic!("seed {seed}: {reason}"),
        }
    }
    assert!(cores > 50 && none > 20, "{cores} cores, {none} without");
}
