//! Alternate schedules.

use unravel_diagnose::diagnose_imported;
use unravel_diagnose::testing::nearest;
use unravel_results::{Distance, Minimality, Status};
use unravel_solve::{Evaluator, SolverChoice, Verdict};

use crate::traces::{Case, Share, avoidable, cases, options};

/// All passing orders, as `diagnose` measures them.
fn distances(case: &Case) -> Vec<Distance> {
    let mut world = case.world();
    let mut reference = case.reference();
    let mut measured = |order: &[_]| {
        let observed = world.observe_order(order).expect("it passes");
        reference.measure(observed, None, "test").distance
    };
    case.census.passing().map(|e| measured(&e.order)).collect()
}

/// The search without a solver promises only a bound; that it nearly always reaches the best is measured here.
#[test]
fn local_search() {
    let (mut found, mut data_flow, mut segments) =
        (Share::default(), Share::default(), Share::default());
    for case in avoidable(150).chain(cases(100)) {
        let mut all = distances(&case);
        all.sort();
        let mut world = case.world();
        let (candidates, bound) = nearest(&mut world, &case.model, &mut case.reference(), 1, 1);
        let Some(best) = all.first() else {
            assert!(candidates.is_empty(), "seed {}", case.seed);
            continue;
        };
        assert!(bound.0 <= best.data_flow, "seed {}: {bound:?}, {best:?}", case.seed);
        let candidate = candidates.first().map(|c| c.distance);
        found.count(candidate.is_some());
        data_flow.count(candidate.is_some_and(|c| c.data_flow == best.data_flow));
        let both = |d: &Distance| (d.data_flow, d.segments);
        segments.count(candidate.is_some_and(|c| both(&c) == both(best)));
        if let Some(candidate) = candidate {
            let less = both(&candidate) < both(best);
            assert!(!less, "seed {}: {candidate:?} < {best:?}", case.seed);
        }
    }
    println!("an alternate: {found}; fewest variations: {data_flow}; and segments: {segments}");
    assert!(data_flow.percent() > 97.0, "{data_flow}");
}

#[test]
fn diagnosed() {
    SolverChoice::ALL.into_iter().for_each(diagnosed_by);
}

fn diagnosed_by(solver: SolverChoice) {
    let mut proved = Share::default();
    let mut none = 0;
    for case in avoidable(60).chain(cases(40)) {
        let seed = case.seed;
        let mut options = options();
        options.samples = 20;
        let mut made = solver.make();
        let diagnosis = diagnose_imported("tiny", &case.run, &mut *made, &options, &mut |_| {})
            .unwrap_or_else(|error| panic!("{solver}, seed {seed}: {error}"));
        let all = distances(&case);
        let Some(best) = all.iter().map(|d| d.data_flow).min() else {
            assert!(diagnosis.alternates.is_empty(), "seed {seed}");
            let said = matches!(diagnosis.status, Status::Inconclusive { .. });
            assert!(said, "seed {seed}: {}", diagnosis.status);
            none += 1;
            continue;
        };
        let alternate = diagnosis.alternates.first();
        let alternate = alternate.unwrap_or_else(|| panic!("seed {seed}: there is one"));
        assert!(alternate.same_path, "seed {seed}");
        passes(&case, &alternate.run.schedule);
        let found = alternate.distance.data_flow;
        match alternate.minimality {
            Minimality::Proved => assert_eq!(found, best, "{solver}, seed {seed}"),
            Minimality::BestFound { gap } => {
                assert!(found >= best && found - gap <= best, "seed {seed}: {found} - {gap}");
            }
        }
        proved.count(alternate.minimality == Minimality::Proved);
    }
    println!("{solver}: proved minimal: {proved}");
    assert!(none > 5 && proved.percent() > 80.0, "{solver}: {none} without, {proved}");
}

/// The schedule, step by step in the model.
fn passes(case: &Case, schedule: &unravel_trace::Schedule) {
    let mut next = vec![0; case.model.threads()];
    let mut evaluator = Evaluator::new(&case.model);
    for segment in &schedule.segments {
        let steps = case.model.thread_steps(unravel_trace::ThreadId(segment.thread));
        for _ in 0..segment.events {
            let at = &mut next[segment.thread as usize];
            let verdict = evaluator.push(steps[*at]);
            assert_eq!(verdict, None, "seed {}: {schedule:?}", case.seed);
            *at += 1;
        }
    }
    if case.model.is_deadlock() {
        let requests = case.model.steps().filter(|s| case.model.is_request(*s));
        let next: Vec<_> = requests.collect();
        let granted = next.into_iter().any(|step| {
            let due = evaluator.next_step(case.model.owner(step)) == Some(step);
            due && evaluator.is_enabled(step)
        });
        assert!(granted, "seed {}: {schedule:?}", case.seed);
    } else {
        assert_eq!(evaluator.verdict(), Verdict::Passes, "seed {}", case.seed);
    }
}
