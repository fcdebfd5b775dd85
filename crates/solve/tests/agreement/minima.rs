//! The nearest order that ends so.

use unravel_solve::brute::Ending;
use unravel_solve::{
    Answer, Evaluator, Goal, Nearest, Query, SolverChoice, StepId, Weights, Wish, criteria,
};
use unravel_trace::Rng;

use crate::traces::{Case, at_least, cases};

pub const GOALS: [Goal; 5] = [
    Goal::Lexicographic,
    Goal::Sum(Weights { data_flow: 1, segments: 0, switches: 0 }),
    Goal::Sum(Weights { data_flow: 1, segments: 1, switches: 1 }),
    Goal::Sum(Weights { data_flow: 3, segments: 0, switches: 2 }),
    Goal::Sum(Weights { data_flow: 0, segments: 5, switches: 1 }),
];

/// A distance as the goal counts it.
pub fn counted(goal: Goal, [data_flow, segments, switches]: [u32; 3]) -> [u32; 3] {
    match goal {
        Goal::Lexicographic => [data_flow, segments, switches],
        Goal::Sum(w) => {
            [data_flow * w.data_flow + segments * w.segments + switches * w.switches, 0, 0]
        }
    }
}

/// The smallest distance of some endings from an order.
pub fn smallest<'a>(
    case: &Case,
    near: &[StepId],
    goal: Goal,
    endings: impl Iterator<Item = &'a Ending>,
) -> Option<[u32; 3]> {
    let mut evaluator = Evaluator::new(&case.model);
    evaluator.evaluate(near);
    let flows = criteria::flows(&case.model, &evaluator);
    let distance = |e: &Ending| criteria::distance(&case.model, near, &flows, &e.order, &e.flows);
    endings.map(|ending| counted(goal, distance(ending))).min()
}

/// Fails unless this is what `smallest` says, and said to be.
pub fn demand_smallest(
    case: &Case,
    query: &Query<'_>,
    goal: Goal,
    found: Answer<Nearest>,
    expected: Option<[u32; 3]>,
    what: &str,
) -> bool {
    match found {
        Answer::Unknown { reason, .. } => panic!("{what}: {reason}"),
        Answer::No => {
            assert_eq!(expected, None, "{what}");
            false
        }
        Answer::Yes(nearest) => {
            case.demand(query.wish, &nearest.order, what);
            let cost = counted(goal, nearest.cost);
            assert_eq!(Some(cost), expected, "{what}: {:?}", nearest.order);
            assert_eq!(nearest.bound, cost, "{what}: the bound");
            true
        }
    }
}

pub fn are_those_of_all_orders(choice: SolverChoice) {
    let (mut passing, mut failing) = (0, 0);
    for case in cases(choice, 3_000) {
        let mut rng = Rng::new(case.seed);
        let mut query = Query::new(&case.model, Wish::Passes);
        query.near = Some(&case.observed);
        for goal in GOALS {
            let what = format!("{choice}, seed {}, {goal:?}", case.seed);
            let expected = smallest(&case, &case.observed, goal, case.endings(Wish::Passes));
            let found = choice.make().nearest(&query, goal);
            passing += u64::from(demand_smallest(&case, &query, goal, found, expected, &what));
        }
        // The other way round: how a passing order would fail. Not of deadlocks: a request that is not granted is not
        // performed, so that criteria leave out switches to it that solvers count.
        if case.model.is_deadlock() {
            continue;
        }
        let complete = |order: &&[StepId]| order.len() == case.model.len();
        let passes: Vec<&[StepId]> =
            case.endings(Wish::Passes).map(|e| e.order.as_slice()).filter(complete).collect();
        if passes.is_empty() {
            continue;
        }
        let near = *rng.pick(&passes);
        let query = Query { near: Some(near), ..Query::new(&case.model, Wish::Fails) };
        let goal = *rng.pick(&GOALS);
        let what = format!("{choice}, seed {}, {goal:?}, to a failure", case.seed);
        let expected = smallest(&case, near, goal, case.endings(Wish::Fails));
        let found = choice.make().nearest(&query, goal);
        failing += u64::from(demand_smallest(&case, &query, goal, found, expected, &what));
    }
    println!("{choice}: {passing} minima to pass, {failing} to fail");
    assert!(passing >= at_least(choice, 2_000), "{passing} compared");
    assert!(failing >= at_least(choice, 300), "{failing} compared");
}
