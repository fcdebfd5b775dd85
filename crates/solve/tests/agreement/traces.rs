//! Tiny traces with all their interleavings, and what is said of them.

use unravel_solve::brute::{self, Census, Ending};
use unravel_solve::generate::{Generated, Tiny, tiny};
use unravel_solve::{Before, Evaluator, Model, SolverChoice, StepId, Verdict, Wish};
use unravel_trace::{Bug, Rng};

/// More interleavings than this are too many for a test.
const LIMIT: usize = 3_000;

pub struct Case {
    pub seed: u64,
    pub model: Model,
    pub census: Census,
    /// The order it was recorded in, which fails.
    pub observed: Vec<StepId>,
}

/// Traces whose interleavings can be counted: so many seeds for ours, which is fast, or as the environment says. Z3
/// gets a tenth.
pub fn cases(choice: SolverChoice, seeds: u64) -> impl Iterator<Item = Case> {
    (0..count(choice, seeds)).filter_map(case)
}

/// How many seeds of `seeds` a solver goes through.
pub fn count(choice: SolverChoice, seeds: u64) -> u64 {
    let wanted = std::env::var("UNRAVEL_SEEDS").ok().and_then(|n| n.parse().ok());
    let seeds = wanted.unwrap_or(seeds);
    match choice {
        SolverChoice::Orders => seeds,
        SolverChoice::Z3 => seeds.div_ceil(10),
    }
}

/// What a number of instances must at least be, if `of` were met with all seeds.
pub fn at_least(choice: SolverChoice, of: u64) -> u64 {
    count(choice, 3_000) * of / 3_000
}

pub fn generated(seed: u64) -> Generated {
    let (threads, events) = match seed % 8 {
        0 | 4 => (4, 10),
        3 => (3, 12),
        7 => (5, 12),
        _ => (3, 8),
    };
    tiny(seed, Tiny { threads, events, list_sync: seed.is_multiple_of(2) })
}

fn case(seed: u64) -> Option<Case> {
    let generated = generated(seed);
    let model = Model::new(&generated.trace, &generated.symbolic).expect("a consistent trace");
    let census = brute::census(&model, LIMIT)?;
    let observed = model.observed().expect("it was observed");
    Some(Case { seed, model, census, observed })
}

impl Case {
    /// All interleavings that end so.
    pub fn endings(&self, wish: Wish) -> impl Iterator<Item = &Ending> {
        self.census.orders.iter().filter(move |ending| is_as_wished(wish, ending.verdict))
    }

    /// Fails unless this is an order of all steps that ends so.
    pub fn demand(&self, wish: Wish, order: &[StepId], what: &str) {
        demand(&self.model, wish, order, &format!("seed {}, {what}", self.seed));
    }

    /// Pairs of steps of different threads, in the order of some interleaving: each with this chance in a hundred.
    /// What it lacks comes after its end.
    pub fn pairs(&self, rng: &mut Rng, percent: u32) -> Vec<Before> {
        let mut order = rng.pick(&self.census.orders).order.clone();
        let rest = self.observed.iter().copied().filter(|step| !order.contains(step));
        order.extend(rest.collect::<Vec<_>>());
        let mut found = Vec::new();
        for (place, first) in order.iter().enumerate() {
            for second in &order[place + 1..] {
                let apart = self.model.owner(*first) != self.model.owner(*second);
                if apart && rng.below(100) < percent {
                    found.push(Before { first: *first, second: *second });
                }
            }
        }
        found
    }

    pub fn kind(&self) -> usize {
        match self.model.bug() {
            Bug::Condition { .. } => 0,
            Bug::Reached { .. } => 1,
            Bug::Deadlock { .. } => 2,
            Bug::Opaque | Bug::None => 3,
        }
    }
}

pub fn is_as_wished(wish: Wish, verdict: Verdict) -> bool {
    match wish {
        Wish::Fails => matches!(verdict, Verdict::Fails { .. }),
        Wish::Passes => verdict == Verdict::Passes,
    }
}

/// Fails unless this is an order of all steps that ends so.
pub fn demand(model: &Model, wish: Wish, order: &[StepId], what: &str) {
    let mut all = order.to_vec();
    all.sort();
    assert!(all.iter().copied().eq(model.steps()), "{what}: no permutation: {order:?}");
    let verdict = Evaluator::new(model).evaluate(order);
    assert!(is_as_wished(wish, verdict), "{what}: {verdict:?}: {order:?}");
}

/// Whether a performed order obeys; what it lacks comes after its end.
pub fn obeys(order: &[StepId], before: &Before) -> bool {
    match (place(order, before.first), place(order, before.second)) {
        (Some(first), Some(second)) => first < second,
        (None, Some(_)) => false,
        (_, None) => true,
    }
}

/// Whether it performs both, in this order.
pub fn performs(order: &[StepId], before: &Before) -> bool {
    let second = place(order, before.second);
    place(order, before.first).is_some_and(|first| second.is_some_and(|second| first < second))
}

fn place(order: &[StepId], step: StepId) -> Option<usize> {
    order.iter().position(|s| *s == step)
}

pub fn opposite(before: &Before) -> Before {
    Before { first: before.second, second: before.first }
}
