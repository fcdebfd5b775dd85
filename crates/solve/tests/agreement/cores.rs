//! Orders that cannot hold together.

use unravel_solve::brute::Ending;
use unravel_solve::{Answer, Before, Query, SolverChoice, StepId, Wish};
use unravel_trace::Rng;

use crate::traces::{Case, at_least, cases, obeys};

/// Orders of the recorded run, of which every passing order may break one.
fn assumed(case: &Case) -> Vec<Before> {
    let mut rng = Rng::new(case.seed);
    let mut found = Vec::new();
    for (index, first) in case.observed.iter().enumerate() {
        for second in &case.observed[index + 1..] {
            if case.model.owner(*first) != case.model.owner(*second) && rng.below(3) > 0 {
                found.push(Before { first: *first, second: *second });
            }
        }
    }
    found
}

/// Passing orders that say which of these orders hold in them. A request that is granted and then goes another way
/// is not performed.
fn telling(case: &Case) -> impl Iterator<Item = &[StepId]> {
    let told = |ending: &&Ending| {
        let last = ending.order.last();
        !case.model.is_deadlock() || last.is_some_and(|step| case.model.is_request(*step))
    };
    case.endings(Wish::Passes).filter(told).map(|ending| ending.order.as_slice())
}

fn members(assume: &[Before], core: &[usize]) -> Vec<Before> {
    let mut distinct = core.to_vec();
    distinct.sort_unstable();
    distinct.dedup();
    assert_eq!(distinct.len(), core.len(), "a member twice: {core:?}");
    core.iter().map(|index| assume[*index]).collect()
}

pub fn leave_nothing(choice: SolverChoice) {
    let (mut cores, mut none) = (0, 0);
    for case in cases(choice, 3_000) {
        let what = format!("{choice}, seed {}", case.seed);
        let assume = assumed(&case);
        let mut query = Query { assume, ..Query::new(&case.model, Wish::Passes) };
        match choice.make().core(&query) {
            Answer::Yes(core) => {
                let members = members(&query.assume, &core);
                for passing in telling(&case) {
                    let all = members.iter().all(|before| obeys(passing, before));
                    assert!(!all, "{what}: {members:?} hold in {passing:?}");
                }
                cores += 1;
            }
            Answer::No => {
                query.keep = std::mem::take(&mut query.assume);
                let Answer::Yes(found) = choice.make().find(&query) else {
                    panic!("{what}: no order although there is no core")
                };
                case.demand(Wish::Passes, &found.order, &what);
                none += 1;
            }
            Answer::Unknown { reason, .. } => panic!("{what}: {reason}"),
        }
    }
    println!("{choice}: {cores} cores, {none} without");
    assert!(cores >= at_least(choice, 500), "{cores} cores");
    assert!(none >= at_least(choice, 100), "{none} without");
}

pub fn have_no_spare_member(choice: SolverChoice) {
    let (mut cores, mut larger) = (0, 0);
    // Where execution ends early, what an order is said to keep is not the same for all solvers.
    for case in cases(choice, 3_000).filter(|case| !case.model.is_deadlock()) {
        let what = format!("{choice}, seed {}", case.seed);
        let mut rng = Rng::new(case.seed + 1);
        let keep = if rng.below(3) == 0 { case.pairs(&mut rng, 5) } else { Vec::new() };
        let assume = assumed(&case);
        let query = Query { assume, keep, ..Query::new(&case.model, Wish::Passes) };
        let allowed: Vec<&[StepId]> =
            telling(&case).filter(|o| query.keep.iter().all(|k| obeys(o, k))).collect();
        let holding = |members: &[Before]| {
            allowed.iter().filter(|o| members.iter().all(|before| obeys(o, before))).count()
        };
        match choice.make().minimal_core(&query) {
            Answer::Yes(core) => {
                let members = members(&query.assume, &core);
                assert_eq!(holding(&members), 0, "{what}: {members:?} is no core");
                for spare in 0..members.len() {
                    let mut fewer = members.clone();
                    let member = fewer.remove(spare);
                    assert!(holding(&fewer) > 0, "{what}: {member:?} of {members:?} is spare");
                }
                cores += 1;
                larger += u64::from(members.len() > 1);
            }
            Answer::No => assert!(holding(&query.assume) > 0, "{what}: there is a core"),
            Answer::Unknown { reason, .. } => panic!("{what}: {reason}"),
        }
    }
    println!("{choice}: {cores} minimal cores, {larger} with several members");
    assert!(cores >= at_least(choice, 500), "{cores} cores");
    assert!(larger >= at_least(choice, 30), "{larger} with several members");
}
