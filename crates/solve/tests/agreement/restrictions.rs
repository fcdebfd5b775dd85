//! Orders that have to hold, sets that have to be broken, steps that must not move.
//!
//! A failing order is cut at its failure, and of what it lacks nobody knows the order. So brute force says two things
//! of a restriction: that some order *surely* obeys, because it performs all that is restricted, or that none *may*.

use unravel_solve::{Answer, Before, Query, SolverChoice, StepId, Wish};
use unravel_trace::Rng;

use crate::minima::{GOALS, demand_smallest, smallest};
use crate::traces::{Case, at_least, cases, obeys, opposite, performs};

/// What came of a restriction.
#[derive(Default)]
struct Count {
    yes: u64,
    no: u64,
}

impl Count {
    /// Asks, and compares with what all orders say: `surely` and `maybe` obey.
    fn compare(
        &mut self,
        choice: SolverChoice,
        case: &Case,
        query: &Query<'_>,
        surely: impl Fn(&[StepId]) -> bool,
        maybe: impl Fn(&[StepId]) -> bool,
    ) {
        let what = format!("{choice}, seed {}, {:?}", case.seed, query.wish);
        match choice.make().find(query) {
            Answer::Yes(found) => {
                case.demand(query.wish, &found.order, &what);
                assert!(maybe(&found.order), "{what}: {:?}", found.order);
                self.yes += 1;
            }
            Answer::No => {
                let missed = case.endings(query.wish).find(|ending| surely(&ending.order));
                assert!(missed.is_none(), "{what}: {:?}", missed.map(|ending| &ending.order));
                self.no += 1;
            }
            Answer::Unknown { reason, .. } => panic!("{what}: {reason}"),
        }
        let any = case.endings(query.wish).any(|ending| maybe(&ending.order));
        if !any && !case.model.is_deadlock() {
            let found = matches!(choice.make().find(query), Answer::Yes(_));
            assert!(!found, "{what}: none obeys");
        }
    }

    fn demand(&self, choice: SolverChoice) {
        let Count { yes, no } = self;
        println!("{choice}: {yes} obeyed, {no} could not be");
        assert!(*yes >= at_least(choice, 500), "{yes} obeyed");
        assert!(*no >= at_least(choice, 300), "{no} could not be");
    }
}

pub fn kept_orders_hold(choice: SolverChoice) {
    let mut count = Count::default();
    for case in cases(choice, 3_000) {
        for wish in [Wish::Passes, Wish::Fails] {
            let mut rng = Rng::new(2 * case.seed + u64::from(wish == Wish::Fails));
            let percent = 5 + 20 * rng.below(3);
            let keep = case.pairs(&mut rng, percent);
            let query = Query { keep, ..Query::new(&case.model, wish) };
            let surely = |order: &[StepId]| query.keep.iter().all(|kept| performs(order, kept));
            let maybe = |order: &[StepId]| query.keep.iter().all(|kept| obeys(order, kept));
            count.compare(choice, &case, &query, surely, maybe);
        }
    }
    count.demand(choice);
}

pub fn blocked_sets_are_broken(choice: SolverChoice) {
    let mut count = Count::default();
    for case in cases(choice, 3_000) {
        for wish in [Wish::Passes, Wish::Fails] {
            let mut rng = Rng::new(2 * case.seed + u64::from(wish == Wish::Fails));
            let sets = 1 + rng.below(4);
            let blocked: Vec<Vec<Before>> = (0..sets).map(|_| case.pairs(&mut rng, 15)).collect();
            let query = Query { blocked, ..Query::new(&case.model, wish) };
            let broken = |order: &[StepId], holds: fn(&[StepId], &Before) -> bool| {
                let breaks = |set: &Vec<Before>| set.iter().any(|b| holds(order, &opposite(b)));
                query.blocked.iter().all(breaks)
            };
            let surely = |order: &[StepId]| broken(order, performs);
            let maybe = |order: &[StepId]| broken(order, obeys);
            count.compare(choice, &case, &query, surely, maybe);
        }
    }
    count.demand(choice);
}

pub fn fixed_steps_keep_their_order(choice: SolverChoice) {
    let (mut nearest, mut none) = (0, 0);
    for case in cases(choice, 3_000) {
        let mut rng = Rng::new(case.seed);
        let free: Vec<StepId> =
            case.observed.iter().copied().filter(|_| rng.below(2) == 0).collect();
        let is_fixed = |step: &StepId| !free.contains(step);
        let fixed: Vec<StepId> = case.observed.iter().copied().filter(is_fixed).collect();
        let mut query = Query::new(&case.model, Wish::Passes);
        query.near = Some(&case.observed);
        query.free = Some(free.clone());
        let goal = *rng.pick(&GOALS);
        let what = format!("{choice}, seed {}, {goal:?}", case.seed);
        let found = choice.make().nearest(&query, goal);
        if let Answer::Yes(found) = &found {
            let kept = found.order.iter().copied().filter(is_fixed);
            assert!(kept.eq(fixed.iter().copied()), "{what}: {:?}", found.order);
        }
        if case.model.is_deadlock() {
            // Which steps are performed is part of the answer there, and all of them have a place.
            continue;
        }
        let allowed = case
            .endings(Wish::Passes)
            .filter(|ending| ending.order.iter().filter(|step| is_fixed(step)).eq(&fixed));
        let expected = smallest(&case, &case.observed, goal, allowed);
        match demand_smallest(&case, &query, goal, found, expected, &what) {
            true => nearest += 1,
            false => none += 1,
        }
    }
    println!("{choice}: {nearest} found, {none} not");
    assert!(nearest >= at_least(choice, 200), "{nearest} found");
    assert!(none >= at_least(choice, 200), "{none} not");
}
