//! The evaluator against a naive reference and against itself, and pruning against brute force, on random tiny
//! traces.

mod reference;

use std::collections::{BTreeSet, HashMap};

use reference::{End, Reference, by_order};
use unravel_solve::generate::{Generated, Tiny, tiny};
use unravel_solve::{Evaluator, Model, SlotId, Source, StepId, Verdict, brute};
use unravel_trace::{Bug, Rng, SymbolId, ThreadId};

/// More interleavings than this are too many for a test.
const LIMIT: usize = 1_000;

fn small(seed: u64) -> (Generated, Model) {
    let like = Tiny { threads: 3, events: 8, list_sync: true };
    let like = if seed.is_multiple_of(4) { Tiny { threads: 4, events: 10, ..like } } else { like };
    let generated = tiny(seed, like);
    let model = Model::new(&generated.trace, &generated.symbolic).expect("a consistent trace");
    (generated, model)
}

#[test]
fn recorded_order_fails() {
    for seed in 0..5_000 {
        let list_sync = seed % 2 == 0;
        let generated = tiny(seed, Tiny { list_sync, ..Tiny::default() });
        let model = Model::new(&generated.trace, &generated.symbolic).expect("a consistent trace");
        let observed = model.observed().expect("it was observed");
        let verdict = Evaluator::new(&model).evaluate(&observed);
        assert!(matches!(verdict, Verdict::Fails { .. }), "seed {seed}: {verdict:?}");
    }
}

/// Every interleaving: the same orders, the same ends, the same values.
#[test]
fn evaluation_agrees_with_the_reference() {
    let (mut compared, mut deadlocks) = (0, 0);
    for seed in 0..1_500 {
        let (generated, model) = small(seed);
        let reference = Reference::new(&generated.trace, &generated.symbolic);
        let Some(all) = reference.explore(LIMIT) else { continue };
        let census = brute::census(&model, 2 * LIMIT).expect("as many as the reference found");
        let expected = by_order(all);
        let mut evaluator = Evaluator::new(&model);
        let mut met = std::collections::HashSet::new();
        for ending in &census.orders {
            let order: Vec<StepId> =
                ending.order.iter().copied().filter(|s| !model.is_request(*s)).collect();
            let (world, end) = expected
                .get(&order)
                .unwrap_or_else(|| panic!("seed {seed}: {:?} is not possible", ending.order));
            let same = match (ending.verdict, *end) {
                (Verdict::Fails { .. }, End::Fails) | (Verdict::Passes, End::Passes) => true,
                (Verdict::Leaves { check, .. }, End::Leaves(number)) => check.0 == number,
                (Verdict::Blocked { .. }, End::Blocked) => true,
                // The reference takes more orders of commuting operations to be different.
                (Verdict::Fails { .. }, End::Passes) => {
                    generated.symbolic.bug == Bug::Opaque && reference.has_recorded_flows(world)
                }
                _ => false,
            };
            assert!(same, "seed {seed}: {:?}: {:?}, not {end:?}", ending.order, ending.verdict);
            evaluator.evaluate(&ending.order);
            for (symbol, value) in &world.symbols {
                assert_eq!(evaluator.value(SymbolId(*symbol)), *value, "seed {seed}");
            }
            met.insert(order);
            compared += 1;
        }
        deadlocks += usize::from(matches!(generated.symbolic.bug, Bug::Deadlock { .. }));
        let missing = expected.iter().find(|(order, _)| !met.contains(*order));
        assert!(
            missing.is_none(),
            "seed {seed}: {:?}",
            missing.map(|(order, (_, end))| (order, end))
        );
    }
    assert!(compared > 50_000 && deadlocks > 50, "{compared} orders, {deadlocks} deadlocks");
}

/// A random order: usually one that begins like the last, sometimes not even in program order.
fn shuffled(rng: &mut Rng, model: &Model, last: &[StepId]) -> Vec<StepId> {
    let mut order = last.to_vec();
    if order.is_empty() || rng.below(4) == 0 {
        let mut next = vec![0; model.threads()];
        order.clear();
        while order.len() < model.len() {
            let thread = rng.below(model.threads() as u32);
            if let Some(step) = model.thread_steps(ThreadId(thread)).get(next[thread as usize]) {
                next[thread as usize] += 1;
                order.push(*step);
            }
        }
        return order;
    }
    let at = rng.below(order.len() as u32) as usize;
    match rng.below(8) {
        0 => order.truncate(at),
        1 => order.swap(0, at),
        _ if at > 0 && model.owner(order[at]) != model.owner(order[at - 1]) => {
            order.swap(at, at - 1)
        }
        _ => {}
    }
    order
}

#[test]
fn incremental_evaluation_is_evaluation() {
    for seed in 0..1_000 {
        let generated = tiny(seed, Tiny::default());
        let model = Model::new(&generated.trace, &generated.symbolic).expect("a consistent trace");
        let mut rng = Rng::new(seed);
        let mut evaluator = Evaluator::new(&model);
        let mut order = model.observed().expect("it was observed");
        for _ in 0..40 {
            order = shuffled(&mut rng, &model, &order);
            let mut fresh = Evaluator::new(&model);
            assert_eq!(
                evaluator.evaluate(&order),
                fresh.evaluate(&order),
                "seed {seed}: {order:?}"
            );
            assert_eq!(evaluator.performed(), fresh.performed(), "seed {seed}");
            assert_eq!(evaluator.choices(), fresh.choices(), "seed {seed}");
            for step in fresh.performed() {
                for op in evaluator.performed_ops(*step) {
                    if let unravel_solve::Op::Read(slot) = op {
                        let (a, b) = (evaluator.sources(), fresh.sources());
                        assert_eq!(a[slot.index()], b[slot.index()], "seed {seed}");
                        let symbol = model.read(*slot).symbol;
                        assert_eq!(evaluator.value(symbol), fresh.value(symbol), "seed {seed}");
                    }
                }
            }
        }
    }
}

/// A deadlock found by setting steps aside is one that the performed order, taken literally, has too.
#[test]
fn tolerance_gives_real_orders() {
    let mut seen = 0;
    for seed in 0..2_000 {
        let generated = tiny(seed, Tiny::default());
        if !matches!(generated.symbolic.bug, Bug::Deadlock { .. }) {
            continue;
        }
        let model = Model::new(&generated.trace, &generated.symbolic).expect("a consistent trace");
        let mut rng = Rng::new(seed);
        let mut evaluator = Evaluator::new(&model);
        let mut order = model.observed().expect("it was observed");
        for _ in 0..30 {
            order = shuffled(&mut rng, &model, &order);
            let verdict = evaluator.evaluate(&order);
            let performed = evaluator.performed().to_vec();
            let requests = model.steps().filter(|s| model.is_request(*s));
            let mut literal = Evaluator::new(&model);
            match verdict {
                Verdict::Fails { .. } => {
                    let all: Vec<StepId> = performed.into_iter().chain(requests).collect();
                    assert!(matches!(literal.evaluate(&all), Verdict::Fails { .. }), "seed {seed}");
                    seen += 1;
                }
                Verdict::Passes => {
                    literal.evaluate(&performed);
                    assert_eq!(literal.performed(), performed, "seed {seed}");
                }
                _ => {}
            }
        }
    }
    assert!(seen > 100, "only {seen}");
}

/// What pruning leaves out never happens.
#[test]
fn candidates_and_must_precede_are_sound() {
    let mut pruned = 0;
    for seed in 0..1_500 {
        let (_, model) = small(seed);
        let Some(census) = brute::census(&model, LIMIT) else { continue };
        let candidates: Vec<Vec<Source>> =
            (0..model.reads().len()).map(|s| model.candidates(SlotId(s as u32))).collect();
        for (slot, found) in candidates.iter().enumerate() {
            let cell = model.reads()[slot].cell;
            pruned += model.writes_of(cell).len() + 1 - found.len();
        }
        let mut evaluator = Evaluator::new(&model);
        for ending in &census.orders {
            evaluator.evaluate(&ending.order);
            let mut place = vec![usize::MAX; model.len()];
            for (index, step) in evaluator.performed().iter().enumerate() {
                place[step.index()] = index;
                for op in evaluator.performed_ops(*step) {
                    if let unravel_solve::Op::Read(slot) = op {
                        let source = evaluator.sources()[slot.index()];
                        assert!(
                            candidates[slot.index()].contains(&source),
                            "seed {seed}: {slot:?} reads from {source:?}, not among {:?}",
                            candidates[slot.index()]
                        );
                    }
                }
            }
            for a in model.steps() {
                for b in model.steps().filter(|b| model.must_precede(a, *b)) {
                    let in_order =
                        place[b.index()] == usize::MAX || place[a.index()] < place[b.index()];
                    assert!(in_order, "seed {seed}: {a:?} came after {b:?}");
                }
            }
        }
    }
    assert!(pruned > 1_000, "only {pruned}");
}

/// Orders that agree on every conflict end alike: nothing that matters is missing from the conflicts.
#[test]
fn conflicts_decide() {
    for seed in 0..1_000 {
        let (_, model) = small(seed);
        let Some(census) = brute::census(&model, LIMIT) else { continue };
        let pairs: BTreeSet<(StepId, StepId)> = model.conflicting_pairs().collect();
        for (a, b) in &pairs {
            assert!(model.conflicts(*a, *b) && model.conflicts(*b, *a), "seed {seed}");
        }
        let mut ends: HashMap<Vec<bool>, (Verdict, Vec<StepId>)> = HashMap::new();
        for ending in &census.orders {
            let complete = ending.order.len() == model.len();
            if !complete || matches!(ending.verdict, Verdict::Leaves { .. }) {
                continue;
            }
            let mut place = vec![0; model.len()];
            ending.order.iter().enumerate().for_each(|(i, s)| place[s.index()] = i);
            let key = pairs.iter().map(|(a, b)| place[a.index()] < place[b.index()]).collect();
            let kind = |v: &Verdict| std::mem::discriminant(v);
            let first = ends.entry(key).or_insert((ending.verdict, ending.order.clone()));
            assert_eq!(kind(&first.0), kind(&ending.verdict), "seed {seed}: {first:?} {ending:?}");
            check_along(seed, &model, &ending.order, &pairs);
        }
    }
}

/// The few pairs along an order are conflicts, and with program order they imply all others.
fn check_along(seed: u64, model: &Model, order: &[StepId], pairs: &BTreeSet<(StepId, StepId)>) {
    let mut place = vec![0; model.len()];
    order.iter().enumerate().for_each(|(i, s)| place[s.index()] = i);
    // By place in the order: a bit for each place that must come before.
    let mut before = vec![0u64; order.len()];
    let mut edges: Vec<(usize, usize)> = Vec::new();
    for along in model.conflicts_along(order) {
        assert!(model.conflicts(along.first, along.second), "seed {seed}: {along:?}");
        edges.push((place[along.first.index()], place[along.second.index()]));
    }
    for thread in 0..model.threads() {
        let steps = model.thread_steps(ThreadId(thread as u32));
        edges.extend(steps.windows(2).map(|w| (place[w[0].index()], place[w[1].index()])));
    }
    edges.sort_by_key(|(_, later)| *later);
    for (earlier, later) in edges {
        assert!(earlier < later, "seed {seed}: against the order");
        before[later] |= before[earlier] | 1 << earlier;
    }
    for (a, b) in pairs {
        let (a, b) = (place[a.index()], place[b.index()]);
        let implied = before[a.max(b)] >> a.min(b) & 1 == 1;
        assert!(implied, "seed {seed}: {a} and {b} of {order:?}");
    }
}
