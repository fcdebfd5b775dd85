//! Context bounding executes every schedule once, fewest preemptions first.

mod watch;

use std::collections::BTreeSet;

use unravel_conformance::{Act, Toy};
use unravel_strategies::{Bounding, Counted, Systematic};
use unravel_trace::{Outcome, Run, Schedule};

use watch::{brute_force, execute};

/// Two threads wait for a signal, of which there is one.
fn program() -> Toy {
    let waits = vec![Act::Lock(0), Act::Wait(0, 0), Act::Unlock(0)];
    let signals = vec![Act::Lock(0), Act::Signal(0), Act::Unlock(0)];
    Toy::joined(vec![waits.clone(), waits, signals], Vec::new())
}

/// The second thread fails if it looks between the first two writes of the first.
fn hidden(expected: u32) -> Toy {
    let first = vec![Act::Write(0, 1), Act::Write(0, 2), Act::Write(0, 3)];
    let second = vec![Act::Unless(0, 1, 1), Act::Expect(0, expected)];
    Toy::joined(vec![first, second], Vec::new())
}

/// All new runs of a search, in order.
fn runs(toy: &mut Toy, search: &mut Bounding) -> Vec<Run> {
    let mut runs = Vec::new();
    loop {
        let Some(mut scheduler) = search.scheduler() else { break };
        let (run, ..) = execute(toy, &mut *scheduler);
        drop(scheduler);
        if search.learn(&run) == Counted::New {
            runs.push(run);
        }
    }
    runs
}

fn key(schedule: &Schedule) -> String {
    let segments: Vec<_> = schedule.segments.iter().map(|s| (s.thread, s.events)).collect();
    format!("{segments:?} {:?}", schedule.choices)
}

fn keys(runs: &[Run]) -> BTreeSet<String> {
    runs.iter().map(|run| key(&run.schedule)).collect()
}

#[test]
fn every_schedule_is_executed_once() {
    for mut toy in [program(), hidden(1)] {
        let (_, schedules) = brute_force(&mut toy, 1_000_000).expect("a small program");
        let mut search = Bounding::new(None, 0, 1);
        let found = runs(&mut toy, &mut search);
        assert!(search.summary().is_complete());
        assert_eq!(found.len() as u64, schedules);
        assert_eq!(keys(&found).len() as u64, schedules, "a schedule twice");
    }
}

#[test]
fn lanes_together_execute_what_one_does() {
    let mut toy = program();
    for most in [Some(0), Some(1), None] {
        let whole = runs(&mut toy, &mut Bounding::new(most, 0, 1));
        let mut union = BTreeSet::new();
        let mut sum = 0;
        for lane in 0..3 {
            let part = runs(&mut toy, &mut Bounding::new(most, lane, 3));
            sum += part.len();
            union.extend(keys(&part));
        }
        assert_eq!((union, sum), (keys(&whole), whole.len()));
    }
}

#[test]
fn fewer_preemptions_come_first() {
    let mut toy = hidden(3);
    let fails = |bound| {
        let mut search = Bounding::new(Some(bound), 0, 1);
        let found = runs(&mut toy.clone(), &mut search);
        let summary = search.summary();
        assert!(summary.is_complete() && summary.bound == Some(bound), "{summary:?}");
        found.iter().any(|run| matches!(run.outcome, Outcome::Failed(_)))
    };
    // The writer must be preempted after its first write; the rest follows.
    assert!(!fails(0));
    assert!(fails(1));
    let mut search = Bounding::new(None, 0, 1);
    let found = runs(&mut toy, &mut search);
    let first = found.iter().position(|run| run.outcome.failure().is_some());
    let unbounded = found.len();
    assert!(first.is_some_and(|first| first < unbounded / 4), "{first:?} of {unbounded}");
}
