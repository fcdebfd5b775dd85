//! Whether there is an order that ends so.

use unravel_solve::{Answer, Query, SolverChoice, Wish};

use crate::traces::{at_least, cases};

pub fn is_that_of_all_orders(choice: SolverChoice) {
    // By kind of bug: conditions, places that are reached, deadlocks, what only execution can tell.
    let (mut yes, mut no) = ([0; 4], [0; 4]);
    for case in cases(choice, 3_000) {
        for wish in [Wish::Fails, Wish::Passes] {
            let expected = case.endings(wish).next().is_some();
            let what = format!("{choice}, seed {}, {wish:?}", case.seed);
            match choice.make().find(&Query::new(&case.model, wish)) {
                Answer::Yes(found) => {
                    assert!(expected, "{what}: {:?}", found.order);
                    case.demand(wish, &found.order, &what);
                    yes[case.kind()] += 1;
                }
                Answer::No => {
                    assert!(!expected, "{what}: there is one");
                    no[case.kind()] += 1;
                }
                Answer::Unknown { reason, .. } => panic!("{what}: {reason}"),
            }
        }
    }
    println!("{choice}: by kind of bug {yes:?} found, {no:?} proved not to be");
    assert!(yes.iter().all(|count| *count >= at_least(choice, 50)), "{yes:?}");
    // Of a failing order nothing is recorded after its failure: all of them fail where it is reached.
    assert!(no[0] >= at_least(choice, 100) && no[1] >= at_least(choice, 50), "{no:?}");
    assert!(no[2] + no[3] >= at_least(choice, 20), "{no:?}");
}
