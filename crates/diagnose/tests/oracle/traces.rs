//! Tiny traces with all their interleavings.

use std::sync::LazyLock;
use std::time::Duration;

use unravel_diagnose::Options;
use unravel_diagnose::testing::{Modelled, Reference, rearranged, reduce_fully, up_to_failure};
use unravel_results::Observed;
use unravel_solve::brute::{self, Census};
use unravel_solve::generate::{self, Tiny, tiny};
use unravel_solve::{Evaluator, Model, StepId, Verdict};
use unravel_trace::{
    Bug, Failure, FailureKind, Outcome, Run, Schedule, Symbolic, ThreadName, Trace, VisibleSet,
};

/// More interleavings than this are too many for a test.
const LIMIT: usize = 1_000;
/// How many traces of the rarer kind there are.
const AVOIDABLE: u64 = 150;

/// A failing run, its context switches reduced as a diagnosis does it, and all orders of its steps.
pub struct Case {
    pub seed: u64,
    /// As it was recorded.
    pub run: Run,
    pub trace: Trace,
    pub symbolic: Symbolic,
    pub model: Model,
    /// The failing order, steps after the failure included.
    pub failing: Vec<StepId>,
    pub census: Census,
}

/// So many traces, or as the environment says.
pub fn cases(count: u64) -> impl Iterator<Item = Case> {
    (0..wanted().unwrap_or(count)).filter_map(|seed| case(generated(seed)?))
}

/// Traces whose failure a condition decides, and that some order of their steps avoids: so many, at most
/// [`AVOIDABLE`], or as the environment says.
pub fn avoidable(count: u64) -> impl Iterator<Item = Case> {
    static SEEDS: LazyLock<Vec<u64>> = LazyLock::new(|| {
        // Few are so.
        let seeds = (1_000_000..).filter(|seed| generated(*seed).is_some_and(|g| g.is_avoidable()));
        seeds.take(wanted().unwrap_or(AVOIDABLE) as usize).collect()
    });
    let count = wanted().unwrap_or(count) as usize;
    SEEDS.iter().take(count).filter_map(|seed| case(generated(*seed)?))
}

fn wanted() -> Option<u64> {
    std::env::var("UNRAVEL_SEEDS").ok().and_then(|n| n.parse().ok())
}

/// A trace as it was generated, and all orders of its steps.
struct Generated {
    seed: u64,
    trace: Trace,
    symbolic: Symbolic,
    model: Model,
    census: Census,
}

impl Generated {
    fn is_avoidable(&self) -> bool {
        let decided = matches!(self.symbolic.bug, Bug::Condition { .. });
        decided && self.census.passing().next().is_some()
    }
}

fn generated(seed: u64) -> Option<Generated> {
    let like = Tiny { threads: 3, events: 8, list_sync: seed.is_multiple_of(2) };
    let like = if seed.is_multiple_of(4) { Tiny { threads: 4, events: 12, ..like } } else { like };
    let generate::Generated { trace, symbolic } = tiny(seed, like);
    let model = Model::new(&trace, &symbolic).expect("a consistent trace");
    let census = brute::census(&model, LIMIT)?;
    Some(Generated { seed, trace, symbolic, model, census })
}

fn case(recorded: Generated) -> Option<Case> {
    let Generated { seed, trace, symbolic, model, census } = recorded;
    let order = model.observed().expect("it was observed");
    let (order, _) = reduce_fully(&model, order);
    let run = run(trace, symbolic);
    let symbolic = run.symbolic.as_ref()?;
    let (trace, symbolic) = rearranged(&run.trace, symbolic, &model, &order);
    let model = Model::new(&trace, &symbolic).expect("still consistent");
    let again = brute::census(&model, LIMIT).expect("the same orders");
    assert_eq!(census.orders.len(), again.orders.len(), "seed {seed}: rearranged");
    let failing = model.observed().expect("it counts as observed");
    Some(Case { seed, run, trace, symbolic, failing, model, census: again })
}

fn run(trace: Trace, symbolic: Symbolic) -> Run {
    let failure = Failure {
        kind: FailureKind::Assertion,
        message: "it failed".to_owned(),
        thread: ThreadName::main(),
        stack: Vec::new(),
        related: Vec::new(),
    };
    Run {
        trace,
        outcome: Outcome::Failed(Box::new(failure)),
        symbolic: Some(Box::new(symbolic)),
        ..Run::default()
    }
}

impl Case {
    /// The world that schedules are tried in.
    pub fn world(&self) -> Modelled<'_> {
        let order = self.failing.clone();
        let visible = VisibleSet::default();
        Modelled::new(&self.model, &self.trace, &self.symbolic, order, visible, u64::MAX)
    }

    /// What alternates are measured against.
    pub fn reference(&self) -> Reference {
        let trace = self.trace.clone();
        let schedule = Schedule::default();
        let observed = Observed { trace, schedule, outcome: self.run.outcome.clone() };
        Reference::new(up_to_failure(&observed, &self.model), Some(&self.symbolic))
    }

    /// The steps of the failing order up to the failure.
    pub fn performed(&self) -> Vec<StepId> {
        let mut evaluator = Evaluator::new(&self.model);
        let verdict = evaluator.evaluate(&self.failing);
        assert!(matches!(verdict, Verdict::Fails { .. }), "seed {}: {verdict:?}", self.seed);
        evaluator.performed().to_vec()
    }

    /// Every step is one event at least.
    pub fn has_only_events(&self) -> bool {
        self.symbolic.steps.iter().all(|step| step.events > 0)
    }
}

/// With time enough for every proof.
pub fn options() -> Options {
    Options { proof_time: Duration::from_secs(30), ..Options::default() }
}

/// Counts how often something is so.
#[derive(Default)]
pub struct Share {
    of: u32,
    yes: u32,
}

impl Share {
    pub fn count(&mut self, yes: bool) {
        self.of += 1;
        self.yes += u32::from(yes);
    }

    pub fn percent(&self) -> f64 {
        100.0 * f64::from(self.yes) / f64::from(self.of.max(1))
    }
}

impl std::fmt::Display for Share {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} of {} ({:.1} %)", self.yes, self.of, self.percent())
    }
}
