//! Context-switch reduction.

use unravel_diagnose::testing::reduce;
use unravel_solve::{Evaluator, Model, StepId, Verdict};

use crate::traces::{Share, avoidable, cases};

fn switches(model: &Model, order: &[StepId]) -> usize {
    order.windows(2).filter(|w| model.owner(w[0]) != model.owner(w[1])).count()
}

#[test]
fn keeps_the_failure_with_no_more_switches() {
    let mut minimal = Share::default();
    for case in avoidable(60).chain(cases(200)) {
        let symbolic = case.run.symbolic.as_ref().expect("it is symbolic");
        let model = Model::new(&case.run.trace, symbolic).expect("a consistent trace");
        let observed = model.observed().expect("it was observed");
        let (reduced, _) = reduce(&model, &observed, &|_| false, unravel_execute::Limit::default());
        let mut evaluator = Evaluator::new(&model);
        let verdict = evaluator.evaluate(&reduced);
        let seed = case.seed;
        assert!(matches!(verdict, Verdict::Fails { .. }), "seed {seed}: {verdict:?}");
        // Of a deadlock only what is executed is a schedule.
        let executed = |order: &[StepId]| -> Vec<StepId> {
            order.iter().copied().filter(|s| !model.is_request(*s)).collect()
        };
        let left = switches(&model, &executed(evaluator.performed()));
        assert!(left <= switches(&model, &executed(&observed)), "seed {seed}");
        let best = case.census.failing().map(|e| {
            let order: Vec<StepId> =
                e.order.iter().copied().filter(|s| !case.model.is_request(*s)).collect();
            switches(&case.model, &order)
        });
        let best = best.min().expect("the recorded order fails");
        assert!(best <= left, "seed {seed}");
        minimal.count(best == left);
    }
    println!("fewest context switches: {minimal}");
    assert!(minimal.percent() > 90.0, "{minimal}");
}
