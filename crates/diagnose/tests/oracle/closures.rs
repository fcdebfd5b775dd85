//! The closure that refutes reads-from.

use unravel_diagnose::testing::is_refuted;
use unravel_solve::Evaluator;

use crate::traces::{avoidable, cases};

/// Reads-from that some order has are never refuted.
#[test]
fn refutes_nothing_that_happens() {
    let mut checked = 0;
    for case in avoidable(60).chain(cases(200)) {
        let mut evaluator = Evaluator::new(&case.model);
        for ending in &case.census.orders {
            evaluator.evaluate(&ending.order);
            if evaluator.executed() < case.model.len() {
                continue;
            }
            checked += 1;
            let sources: Vec<_> = evaluator.sources().iter().copied().map(Some).collect();
            let refuted = is_refuted(&case.model, &sources);
            assert!(!refuted, "seed {}: {:?}", case.seed, ending.order);
        }
    }
    assert!(checked > 2_000, "only {checked}");
}
