//! The published ways to an alternate schedule: Symbiosis' pair reordering, and the MaxSMT models with their
//! progressive windows (Algorithm 1 of the MaxSMT paper). All work on the recorded path.
//!
//! `pair` is Symbiosis §3.5: one pair of events reversed, those with the fewest events between them first. `maxsmt` and
//! `lexico` are the two models of MaxSMT DSPs §4.2 (all criteria alike; one after the other), `progressive` and
//! `progressive-lexico` the same within windows (§4.3). Deviates: what is found is evaluated, and executed where there is a program, before it counts.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use unravel_solve::{
    Answer, Bounds, Evaluator, Goal as SolverGoal, Model, Nearest, Query, Solver, StepId, Verdict,
    Weights, Wish,
};

/// How to look for an alternate schedule.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Goal {
    /// Evaluate near schedules first, then prove or improve.
    #[default]
    Local,
    /// Symbiosis: reverse one pair, the closest first.
    Pair,
    /// All criteria count the same.
    MaxSmt,
    /// Data-flow variations, then broken segments, then context-switch variations.
    Lexico,
    /// `maxsmt` within a window of segments around the failure that grows.
    Progressive,
    ProgressiveLexico,
}

impl Goal {
    pub const ALL: [Goal; 6] = [
        Goal::Local,
        Goal::Pair,
        Goal::MaxSmt,
        Goal::Lexico,
        Goal::Progressive,
        Goal::ProgressiveLexico,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Goal::Local => "local",
            Goal::Pair => "pair",
            Goal::MaxSmt => "maxsmt",
            Goal::Lexico => "lexico",
            Goal::Progressive => "progressive",
            Goal::ProgressiveLexico => "progressive-lexico",
        }
    }
}

impl fmt::Display for Goal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// No goal has this name.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error(
    "there is no goal '{0}'; there are local, pair, maxsmt, lexico, progressive and progressive-lexico"
)]
pub struct UnknownGoal(String);

impl FromStr for Goal {
    type Err = UnknownGoal;

    fn from_str(name: &str) -> Result<Goal, UnknownGoal> {
        let found = Goal::ALL.into_iter().find(|g| g.name() == name);
        found.ok_or_else(|| UnknownGoal(name.to_owned()))
    }
}

/// What a published algorithm found.
#[derive(Clone, Debug)]
pub enum Sought {
    /// An order that passes in the model; none on the recorded path has fewer than `fewest` data-flow variations.
    Found {
        order: Vec<StepId>,
        fewest: u32,
        /// Why the solver did not get to its end, if it did not.
        stopped: Option<String>,
    },
    /// There is none on this path.
    None,
    Unknown {
        reason: String,
    },
}

/// Bounds of the solver.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    pub conflicts: Option<u64>,
    pub time: Duration,
}

/// Symbiosis: for a pair e_j before e_k of different threads, the closest first, the order
/// `α β[t_k] e_k e_j (β∖β[t_k]) γ`; the first that passes.
pub fn by_pairs(model: &Model, failing: &[StepId], pairs: &[(StepId, StepId)]) -> (Sought, u64) {
    let mut evaluator = Evaluator::new(model);
    let mut places = vec![0usize; model.len()];
    for (place, step) in failing.iter().enumerate() {
        places[step.index()] = place;
    }
    let mut sorted: Vec<(usize, usize)> = pairs
        .iter()
        .map(|(first, second)| (places[first.index()], places[second.index()]))
        .collect();
    sorted.sort_by_key(|(first, second)| (second - first, std::cmp::Reverse(*second)));
    let mut evaluated = 0;
    for (first, second) in sorted {
        let ahead = model.owner(failing[second]);
        let between = &failing[first + 1..second];
        let (own, others): (Vec<StepId>, Vec<StepId>) =
            between.iter().partition(|step| model.owner(**step) == ahead);
        let order = [
            &failing[..first],
            &own[..],
            &failing[second..=second],
            &failing[first..=first],
            &others[..],
            &failing[second + 1..],
        ]
        .concat();
        evaluated += 1;
        if evaluator.evaluate(&order) == Verdict::Passes {
            return (Sought::Found { order, fewest: 0, stopped: None }, evaluated);
        }
    }
    (Sought::None, evaluated)
}

/// The MaxSMT models over all steps, or progressively within windows.
pub fn by_solver(
    model: &Model,
    failing: &[StepId],
    goal: Goal,
    solver: &mut dyn Solver,
    effort: Effort,
) -> (Sought, u64) {
    let solver_goal = match goal {
        Goal::Lexico | Goal::ProgressiveLexico => SolverGoal::Lexicographic,
        _ => SolverGoal::Sum(Weights { data_flow: 1, segments: 1, switches: 1 }),
    };
    let progressive = matches!(goal, Goal::Progressive | Goal::ProgressiveLexico);
    let windows = if progressive { windows(model, failing) } else { vec![None] };
    let mut queries = 0;
    let mut unknown = None;
    for free in windows {
        let bounds =
            Bounds { conflicts: effort.conflicts, time: Some(effort.time), interrupt: None };
        let query = Query { near: Some(failing), free, bounds, ..Query::new(model, Wish::Passes) };
        queries += 1;
        // Only this goal bounds the data flow alone, and of all orders.
        let bounds_flow = solver_goal == SolverGoal::Lexicographic && !progressive;
        let fewest = |nearest: &Nearest| if bounds_flow { nearest.bound[0] } else { 0 };
        match solver.nearest(&query, solver_goal) {
            Answer::Yes(nearest) => {
                let fewest = fewest(&nearest);
                return (Sought::Found { order: nearest.order, fewest, stopped: None }, queries);
            }
            Answer::No => {}
            Answer::Unknown { best: Some(best), reason } => {
                let (fewest, stopped) = (fewest(&best), Some(reason));
                return (Sought::Found { order: best.order, fewest, stopped }, queries);
            }
            Answer::Unknown { reason, best: None } => unknown = Some(reason),
        }
    }
    match unknown {
        Some(reason) => (Sought::Unknown { reason }, queries),
        None => (Sought::None, queries),
    }
}

/// The steps that may move: the segment of the failure with one more segment on each side every time, then all.
fn windows(model: &Model, failing: &[StepId]) -> Vec<Option<Vec<StepId>>> {
    let mut segments: Vec<(usize, usize)> = Vec::new();
    for (index, step) in failing.iter().enumerate() {
        match segments.last_mut() {
            Some((start, end)) if model.owner(failing[*start]) == model.owner(*step) => {
                *end = index + 1;
            }
            _ => segments.push((index, index + 1)),
        }
    }
    let bug = model.bug_step().and_then(|step| failing.iter().position(|s| *s == step));
    let bug = bug.unwrap_or(failing.len().saturating_sub(1));
    let center =
        segments.iter().position(|(start, end)| (*start..*end).contains(&bug)).unwrap_or(0);
    let mut windows = Vec::new();
    let mut size = 1;
    loop {
        let from = center.saturating_sub(size);
        let to = (center + size).min(segments.len().saturating_sub(1));
        if from == 0 && to + 1 >= segments.len() {
            windows.push(None);
            return windows;
        }
        windows.push(Some(failing[segments[from].0..segments[to].1].to_vec()));
        size += 1;
    }
}
