//! Traces that say what each thread did, not when.

use super::*;
use crate::{Model, StepId};

/// As [`large`], the steps listed thread by thread: a failing schedule is to be found.
pub fn unordered(events: usize, threads: usize, seed: u64) -> Generated {
    forget_order(&large(events, threads, seed)).0
}

/// An observed run without its order: steps are listed thread by thread, and nobody knows how they interleave. What
/// sync objects were like before is kept. With it, where each step was: the order that failed.
pub fn forget_order(run: &Generated) -> (Generated, Vec<StepId>) {
    let Generated { trace, symbolic } = run;
    let mut by_thread: Vec<usize> = (0..symbolic.steps.len()).collect();
    by_thread.sort_by_key(|step| symbolic.steps[*step].thread);
    let mut listed = Generated { trace: trace.clone(), symbolic: symbolic.clone() };
    listed.trace.events.clear();
    listed.symbolic.shadows.clear();
    listed.symbolic.steps.clear();
    let mut event_now = vec![0; trace.events.len()];
    let mut observed = vec![StepId(0); by_thread.len()];
    for (now, before) in (0..).zip(&by_thread) {
        let step = symbolic.steps[*before];
        observed[*before] = StepId(now);
        let first = listed.trace.events.len() as u32;
        listed.symbolic.steps.push(Step { first, ..step });
        for event in step.range() {
            event_now[event] = listed.trace.events.len() as u32;
            listed.trace.events.push(trace.events[event].clone());
            listed.symbolic.shadows.push(symbolic.shadows[event]);
        }
    }
    let symbolic = &mut listed.symbolic;
    for condition in &mut symbolic.conditions {
        condition.after = event_now[condition.after as usize];
    }
    if let Bug::Condition { after, .. } | Bug::Reached { after, .. } = &mut symbolic.bug {
        *after = event_now[*after as usize];
    }
    symbolic.order = KnownOrder::Unknown;
    if let Ok(model) = Model::new(&run.trace, &run.symbolic) {
        // Part of it was inferred from the order, which is lost now.
        let known = model.syncs().iter().flat_map(|object| {
            object.initial.iter().map(|state| InitialSync { at: object.at, state: *state })
        });
        symbolic.sync = known.collect();
        observed.extend(model.steps().skip(observed.len()));
    }
    (listed, observed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Evaluator, Verdict};

    #[test]
    fn the_lost_order_still_fails() {
        let observed = (0..200).map(|seed| tiny(seed, Tiny::default()));
        let observed = observed.chain((0..5).map(|seed| large(300, 4, seed)));
        let mut in_place = 0;
        for run in observed.filter(|run| run.symbolic.bug != Bug::Opaque) {
            let (listed, order) = forget_order(&run);
            let model = Model::new(&listed.trace, &listed.symbolic).expect("a consistent trace");
            assert_eq!(model.observed(), None);
            let verdict = Evaluator::new(&model).evaluate(&order);
            assert!(matches!(verdict, Verdict::Fails { .. }), "{verdict:?}");
            in_place += usize::from(order.is_sorted());
        }
        assert!(in_place < 20, "{in_place} were listed as they happened");
    }
}
