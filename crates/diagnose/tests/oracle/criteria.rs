//! Distances and projections.
//!
//! `diagnose` counts over the events of two traces, `solve` over the steps of two orders.
//! They agree on data flow, and on the rest where every step has an event and the alternate is complete.

use unravel_diagnose::testing::{Side, project};
use unravel_solve::{Evaluator, criteria};

use crate::traces::{avoidable, cases};

#[test]
fn distances_agree() {
    let mut compared = 0;
    for case in avoidable(80).chain(cases(80)) {
        let mut world = case.world();
        let mut reference = case.reference();
        let performed = case.performed();
        let mut evaluator = Evaluator::new(&case.model);
        evaluator.evaluate(&case.failing);
        let flows = criteria::flows(&case.model, &evaluator);
        for ending in case.census.passing() {
            let observed = world.observe_order(&ending.order).expect("it passes");
            let found = reference.measure(observed, None, "test").distance;
            let [data_flow, segments, switches] =
                criteria::distance(&case.model, &performed, &flows, &ending.order, &ending.flows);
            let seed = case.seed;
            assert_eq!(found.data_flow, data_flow, "seed {seed}: {:?}", ending.order);
            if case.has_only_events() && !case.model.is_deadlock() {
                let found = [found.segments, found.switches];
                assert_eq!(found, [segments, switches], "seed {seed}: {:?}", ending.order);
            }
            compared += 1;
        }
    }
    assert!(compared > 2_000, "only {compared}");
}

/// A projection has every event of every data flow that differs, and nothing where nothing differs.
#[test]
fn projections_have_what_differs() {
    for case in avoidable(80).chain(cases(80)) {
        let mut world = case.world();
        let mut reference = case.reference();
        let failing = reference.observed.clone();
        let same = reference.measure(failing, None, "test");
        assert_eq!(same.distance, Default::default(), "seed {}", case.seed);
        for ending in case.census.passing() {
            let observed = world.observe_order(&ending.order).expect("it passes");
            let candidate = reference.measure(observed, None, "test");
            let ours = Side { trace: &reference.observed.trace, lineup: &reference.lineup };
            let theirs = Side { trace: &candidate.observed.trace, lineup: &candidate.lineup };
            let projection = project(&reference.keys, &reference.branches, ours, theirs);
            for (of, other, events) in [
                (ours.lineup, theirs.lineup, &projection.failing),
                (theirs.lineup, ours.lineup, &projection.alternate),
            ] {
                for flow in &of.flows {
                    let edge = of.edge(flow);
                    if other.edges.contains(&edge) || !other.contains(edge.1) {
                        continue;
                    }
                    let ends = [Some(flow.to), flow.from];
                    let shown = ends.iter().flatten().all(|e| events.contains(e));
                    assert!(shown, "seed {}: {flow:?} not in {events:?}", case.seed);
                }
            }
        }
    }
}
