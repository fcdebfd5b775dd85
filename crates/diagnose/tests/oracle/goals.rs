//! The way of a published goal through `diagnose`.

use unravel_diagnose::testing::{Effort, Sought, by_solver};
use unravel_diagnose::{Goal, diagnose_imported};
use unravel_solve::{Evaluator, SolverChoice, Verdict, criteria};

use crate::traces::{avoidable, cases, options};

/// `--goal lexico` has the smallest distance of all passing orders.
#[test]
fn lexico_is_the_minimum() {
    SolverChoice::ALL.into_iter().for_each(lexico_is_the_minimum_by);
}

fn lexico_is_the_minimum_by(solver: SolverChoice) {
    let (mut some, mut none) = (0, 0);
    for case in avoidable(50).chain(cases(40)) {
        let seed = case.seed;
        let model = &case.model;
        let effort = Effort { conflicts: None, time: options().goal_time };
        let (sought, _) =
            by_solver(model, &case.failing, Goal::Lexico, &mut *solver.make(), effort);
        let expected = case.census.lexicographic(model, &case.failing);
        let mut evaluator = Evaluator::new(model);
        evaluator.evaluate(&case.failing);
        let flows = criteria::flows(model, &evaluator);
        match sought {
            Sought::Found { order, fewest, .. } => {
                assert_eq!(evaluator.evaluate(&order), Verdict::Passes, "seed {seed}");
                let cost = criteria::distance(
                    model,
                    &case.failing,
                    &flows,
                    evaluator.performed(),
                    &criteria::flows(model, &evaluator),
                );
                assert_eq!(Some(cost), expected, "{solver}, seed {seed}: {order:?}");
                assert_eq!(fewest, cost[0], "seed {seed}");
                some += 1;
            }
            Sought::None => {
                assert_eq!(expected, None, "{solver}, seed {seed}");
                none += 1;
            }
            Sought::Unknown { reason } => panic!("{solver}, seed {seed}: {reason}"),
        }
    }
    assert!(some > 30 && none > 5, "{solver}: {some} found, {none} not");
}

/// The same through a whole diagnosis: the fewest data-flow variations, and said to be.
#[test]
fn diagnosis_by_lexico_has_the_fewest_variations() {
    SolverChoice::ALL.into_iter().for_each(fewest_variations_by);
}

fn fewest_variations_by(solver: SolverChoice) {
    for case in avoidable(30).chain(cases(20)) {
        let seed = case.seed;
        let mut options = options();
        options.goal = Goal::Lexico;
        options.samples = 20;
        let mut made = solver.make();
        let diagnosis = diagnose_imported("tiny", &case.run, &mut *made, &options, &mut |_| {})
            .unwrap_or_else(|error| panic!("{solver}, seed {seed}: {error}"));
        let expected = case.census.lexicographic(&case.model, &case.failing);
        let found = diagnosis.alternates.first().map(|a| a.distance.data_flow);
        assert_eq!(found, expected.map(|[data_flow, ..]| data_flow), "{solver}, seed {seed}");
    }
}
