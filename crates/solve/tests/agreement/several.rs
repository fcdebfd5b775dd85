//! Queries one after the other to one solver: what it keeps of one must not show in the next.

use unravel_solve::{Answer, Query, Solver, SolverChoice, Wish};
use unravel_trace::Rng;

use crate::minima::{GOALS, counted};
use crate::traces::{Case, at_least, cases};

/// What two answers must have in common.
#[derive(PartialEq, Eq, Debug)]
enum Said {
    Found,
    Cost([u32; 3]),
    /// A core; whether it is one, others check.
    Core,
    No,
}

/// One of many queries, by number.
fn ask(solver: &mut dyn Solver, choice: SolverChoice, case: &Case, number: u64) -> Said {
    let what = &format!("{choice}, seed {}, query {number}", case.seed);
    let mut rng = Rng::new(16 * case.seed + number);
    let wish = if rng.below(3) == 0 { Wish::Fails } else { Wish::Passes };
    let mut query = Query::new(&case.model, wish);
    if rng.below(2) == 0 {
        query.keep = case.pairs(&mut rng, 5);
    }
    if rng.below(3) == 0 {
        query.blocked = (0..2).map(|_| case.pairs(&mut rng, 20)).collect();
    }
    if rng.below(3) > 0 {
        query.near = Some(&case.observed);
    }
    match rng.below(3) {
        0 => match solver.find(&query) {
            Answer::Yes(found) => {
                case.demand(wish, &found.order, what);
                Said::Found
            }
            Answer::No => Said::No,
            Answer::Unknown { reason, .. } => panic!("{what}: {reason}"),
        },
        1 => {
            query.assume = case.pairs(&mut rng, 50);
            match solver.core(&query) {
                Answer::Yes(core) => {
                    // What it says must be so for a fresh one, too.
                    query.keep.extend(core.iter().map(|index| query.assume[*index]));
                    query.assume.clear();
                    let again = choice.make().find(&query);
                    assert_eq!(again, Answer::No, "{what}: no core: {core:?}");
                    Said::Core
                }
                Answer::No => Said::No,
                Answer::Unknown { reason, .. } => panic!("{what}: {reason}"),
            }
        }
        _ => {
            query.wish = Wish::Passes;
            query.near = Some(&case.observed);
            if case.model.is_deadlock() {
                // What is kept is an order of all steps, what is measured one of those that were performed.
                query.keep.clear();
                query.blocked.clear();
            }
            let goal = *rng.pick(&GOALS);
            match solver.nearest(&query, goal) {
                Answer::Yes(nearest) => {
                    case.demand(query.wish, &nearest.order, what);
                    assert_eq!(nearest.bound, counted(goal, nearest.cost), "{what}");
                    Said::Cost(counted(goal, nearest.cost))
                }
                Answer::No => Said::No,
                Answer::Unknown { reason, .. } => panic!("{what}: {reason}"),
            }
        }
    }
}

pub fn answers_are_those_of_a_fresh_solver(choice: SolverChoice) {
    let mut counts = [0; 4];
    let mut one = choice.make();
    // Two models in turn: a solver may forget one, but not mix them up.
    let mut last: Option<Case> = None;
    for case in cases(choice, 1_000) {
        for number in 0..8 {
            let said = ask(&mut *one, choice, &case, number);
            let fresh = ask(&mut *choice.make(), choice, &case, number);
            assert_eq!(said, fresh, "{choice}, seed {}, query {number}", case.seed);
            let kind = match said {
                Said::Found => 0,
                Said::Cost(_) => 1,
                Said::Core => 2,
                Said::No => 3,
            };
            counts[kind] += 1;
        }
        if let Some(last) = &last {
            let said = ask(&mut *one, choice, last, 4);
            let fresh = ask(&mut *choice.make(), choice, last, 4);
            assert_eq!(said, fresh, "{choice}, seed {}, again", last.seed);
        }
        last = Some(case);
    }
    println!("{choice}: {counts:?} found, nearest, cores, none");
    assert!(counts.iter().all(|count| *count >= at_least(choice, 300)), "{counts:?}");
}
