//! Ours against Z3 where there are too many interleavings to count. Z3 gives up by a number of conflicts, not by time:
//! the same instances are compared on every machine. Where it gives up, ours is only evaluated.

use unravel_solve::generate::{
    Generated, Tiny, atomic_counter, counter, distant, forget_order, hot, large, tiny, unordered,
    waiting,
};
use unravel_solve::{
    Answer, Bounds, Evaluator, Found, Goal, Model, Query, Solver, SolverChoice, Weights, Wish,
};
use unravel_trace::{Bug, Rng};

use crate::minima::counted;
use crate::traces::{count, demand, is_as_wished};

/// Z3 gets no further within these.
const CONFLICTS: u64 = 3_000;

#[derive(Default, Debug)]
struct Count {
    yes: u64,
    no: u64,
    /// Z3 gave up.
    skipped: u64,
}

impl Count {
    /// So many at least, of so many seeds if the environment says nothing else.
    fn demand(&self, what: &str, seeds: u64, at_least: [u64; 2], skipped_percent: u64) {
        println!("{what}: {self:?}");
        let all = self.yes + self.no + self.skipped;
        let [yes, no] = at_least.map(|of| of * count(SolverChoice::Orders, seeds) / seeds);
        assert!(self.yes >= yes && self.no >= no, "{what}: {self:?}");
        assert!(self.skipped * 100 <= all * skipped_percent, "{what}: {self:?}");
    }
}

fn model(generated: &Generated) -> Model {
    Model::new(&generated.trace, &generated.symbolic).expect("a consistent trace")
}

/// All families, of some length each.
fn family(seed: u64) -> (&'static str, Generated) {
    let mut rng = Rng::new(seed);
    let mut between = |from: u32, to: u32| (from + rng.below(to - from)) as usize;
    match seed % 8 {
        0..=3 => {
            let like = Tiny { threads: 4, events: between(20, 50) as u32, list_sync: true };
            ("tiny", tiny(seed, like))
        }
        4 => ("large", large(between(60, 120), 3, seed)),
        5 => ("counter", counter(3, between(4, 8), 1, seed)),
        6 => ("atomic counter", atomic_counter(3, between(4, 10), seed)),
        _ => match between(0, 3) {
            0 => ("hot", hot(between(10, 30), 3, seed)),
            1 => ("distant", distant(between(60, 100), 30, 3, seed)),
            _ => ("waiting", waiting(between(60, 100), 2, seed)),
        },
    }
}

fn find(solver: &mut dyn Solver, query: &Query<'_>, what: &str) -> Option<Answer<Found>> {
    let found = solver.find(query);
    match &found {
        Answer::Unknown { .. } => return None,
        Answer::No => {}
        Answer::Yes(found) => {
            let mut model = query.model.clone();
            found.initial.iter().for_each(|(cell, value)| model.set_initial(*cell, *value));
            demand(&model, query.wish, &found.order, what);
        }
    }
    Some(found)
}

/// The same satisfiability.
fn compare_find(query: &Query<'_>, count: &mut Count, what: &str) {
    let ours = find(&mut *SolverChoice::Orders.make(), query, what);
    let ours = ours.unwrap_or_else(|| panic!("{what}: no answer of ours"));
    let bounds = Bounds { conflicts: Some(CONFLICTS), ..Bounds::default() };
    let query = Query { bounds, ..query.clone() };
    match (find(&mut *SolverChoice::Z3.make(), &query, what), ours) {
        (None, _) => count.skipped += 1,
        (Some(Answer::Yes(_)), Answer::Yes(_)) => count.yes += 1,
        (Some(Answer::No), Answer::No) => count.no += 1,
        (theirs, ours) => panic!("{what}: ours says {ours:?}, Z3 {theirs:?}"),
    }
}

#[test]
fn satisfiability() {
    let mut counts = Count::default();
    for seed in 0..count(SolverChoice::Orders, 400) {
        let (name, generated) = family(seed);
        let model = model(&generated);
        for wish in [Wish::Fails, Wish::Passes] {
            let what = format!("{name}, seed {seed}, {wish:?}");
            compare_find(&Query::new(&model, wish), &mut counts, &what);
        }
    }
    counts.demand("satisfiability", 400, [300, 100], 10);
}

#[test]
fn without_order_information() {
    let mut counts = Count::default();
    for seed in 0..count(SolverChoice::Orders, 200) {
        let (name, generated) = family(seed);
        if generated.symbolic.bug == Bug::Opaque {
            // How it ended is in its order.
            continue;
        }
        let model = model(&forget_order(&generated).0);
        let what = format!("{name}, seed {seed}, listed by thread");
        compare_find(&Query::new(&model, Wish::Fails), &mut counts, &what);
    }
    for seed in 0..count(SolverChoice::Orders, 200) / 10 {
        let model = model(&unordered(100, 3, seed));
        let what = format!("seed {seed}, listed by thread");
        compare_find(&Query::new(&model, Wish::Fails), &mut counts, &what);
    }
    counts.demand("without order", 200, [150, 0], 10);
}

#[test]
fn minima() {
    let goals = [
        Goal::Sum(Weights { data_flow: 1, segments: 0, switches: 0 }),
        Goal::Sum(Weights { data_flow: 2, segments: 1, switches: 1 }),
        Goal::Lexicographic,
    ];
    let mut counts = Count::default();
    for seed in 0..count(SolverChoice::Orders, 150) {
        let (name, generated) = family(seed);
        let model = model(&generated);
        let observed = model.observed().expect("it was observed");
        let near = Some(observed.as_slice());
        let query = Query { near, ..Query::new(&model, Wish::Passes) };
        let goal = goals[seed as usize / 8 % goals.len()];
        let what = format!("{name}, seed {seed}, {goal:?}");
        let ours = SolverChoice::Orders.make().nearest(&query, goal);
        if let Answer::Yes(ours) = &ours {
            demand(&model, Wish::Passes, &ours.order, &what);
            assert_eq!(ours.bound, counted(goal, ours.cost), "{what}");
        }
        let bounds = Bounds { conflicts: Some(CONFLICTS), ..Bounds::default() };
        let query = Query { bounds, ..query };
        match (SolverChoice::Z3.make().nearest(&query, goal), ours) {
            (Answer::Unknown { .. }, _) => counts.skipped += 1,
            (Answer::Yes(theirs), Answer::Yes(ours)) => {
                let (theirs, ours) = (counted(goal, theirs.cost), counted(goal, ours.cost));
                assert_eq!(ours, theirs, "{what}");
                counts.yes += 1;
            }
            (Answer::No, Answer::No) => counts.no += 1,
            (theirs, ours) => panic!("{what}: ours says {ours:?}, Z3 {theirs:?}"),
        }
    }
    counts.demand("minima", 150, [40, 10], 30);
}

/// What ours says cannot hold together, Z3 cannot reconcile; and without any one member it can.
#[test]
fn minimal_cores() {
    let mut counts = Count::default();
    for seed in 0..count(SolverChoice::Orders, 150) {
        let (name, generated) = family(seed);
        let model = model(&generated);
        if model.is_deadlock() {
            // Where execution ends early, what an order is said to keep is not the same for both.
            continue;
        }
        let what = format!("{name}, seed {seed}");
        let observed = model.observed().expect("it was observed");
        let assume = model.conflicts_along(&observed);
        let near = Some(observed.as_slice());
        let query = Query { near, assume, ..Query::new(&model, Wish::Passes) };
        let core = match SolverChoice::Orders.make().minimal_core(&query) {
            Answer::Yes(core) => core,
            other => panic!("{what}: all orders of a failing run hold in a passing one: {other:?}"),
        };
        let members: Vec<_> = core.iter().map(|index| query.assume[*index]).collect();
        let bounds = Bounds { conflicts: Some(CONFLICTS), ..Bounds::default() };
        let mut kept = Query { assume: Vec::new(), keep: members.clone(), bounds, ..query };
        match find(&mut *SolverChoice::Z3.make(), &kept, &what) {
            None => counts.skipped += 1,
            Some(Answer::No) => counts.no += 1,
            Some(other) => panic!("{what}: {members:?} hold in {other:?}"),
        }
        for spare in 0..members.len() {
            kept.keep = members.clone();
            let member = kept.keep.remove(spare);
            match find(&mut *SolverChoice::Z3.make(), &kept, &what) {
                None => counts.skipped += 1,
                Some(Answer::No) => panic!("{what}: {member:?} of {members:?} is spare"),
                Some(_) => counts.yes += 1,
            }
        }
    }
    counts.demand("minimal cores", 150, [100, 50], 15);
}

/// Memory that nobody knows, chosen by both.
#[test]
fn unknown_initial_values() {
    let mut counts = Count::default();
    for seed in 0..count(SolverChoice::Orders, 200) {
        let (name, mut generated) = family(seed);
        let mut rng = Rng::new(seed);
        for initial in &mut generated.symbolic.initial {
            if rng.below(2) == 0 {
                initial.value = None;
            }
        }
        let model = model(&generated);
        for wish in [Wish::Fails, Wish::Passes] {
            let what = format!("{name}, seed {seed}, {wish:?}, unknown values");
            compare_find(&Query::new(&model, wish), &mut counts, &what);
        }
    }
    counts.demand("unknown values", 200, [200, 30], 15);
}

/// A failing run fails, whatever made it.
#[test]
fn what_is_compared_fails() {
    for seed in 0..200 {
        let (name, generated) = family(seed);
        let model = model(&generated);
        let observed = model.observed().expect("it was observed");
        let verdict = Evaluator::new(&model).evaluate(&observed);
        assert!(is_as_wished(Wish::Fails, verdict), "{name}, seed {seed}: {verdict:?}");
    }
}
