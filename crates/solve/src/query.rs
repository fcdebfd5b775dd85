//! What can be asked of a solver, and what it answers. No type of any solver's library appears here.

use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use crate::{Cell, Model, StepId};

/// An order between two steps: `first` is executed before `second`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Before {
    pub first: StepId,
    pub second: StepId,
}

/// How the order that is looked for ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Wish {
    Fails,
    Passes,
}

/// An order is looked for that is feasible, ends as wished, and obeys `keep`.
#[derive(Clone, Debug)]
pub struct Query<'a> {
    pub model: &'a Model,
    pub wish: Wish,
    /// Orders that hold in every answer.
    pub keep: Vec<Before>,
    /// Of each of these sets some order does not hold: its opposite does.
    pub blocked: Vec<Vec<Before>>,
    /// Orders of which [`Solver::core`] finds a subset that cannot hold together with the rest.
    pub assume: Vec<Before>,
    /// The schedule that answers should be near, and that criteria compare with. All steps, each once.
    pub near: Option<&'a [StepId]>,
    /// Steps of `near` that may move; the others keep their order among each other. `None`: all may.
    pub free: Option<Vec<StepId>>,
    pub bounds: Bounds<'a>,
}

impl<'a> Query<'a> {
    /// Any order that ends so, within no bounds.
    pub fn new(model: &'a Model, wish: Wish) -> Query<'a> {
        Query {
            model,
            wish,
            keep: Vec::new(),
            blocked: Vec::new(),
            assume: Vec::new(),
            near: None,
            free: None,
            bounds: Bounds::default(),
        }
    }

    /// The orders that hold in every answer: those that are kept, and those of the steps that may not move.
    pub(crate) fn kept(&self) -> Vec<Before> {
        let mut kept = self.keep.clone();
        if let (Some(near), Some(free)) = (self.near, &self.free) {
            let mut may_move = vec![false; self.model.len()];
            free.iter().for_each(|step| may_move[step.index()] = true);
            let fixed: Vec<StepId> =
                near.iter().copied().filter(|step| !may_move[step.index()]).collect();
            let pairs = fixed.windows(2).map(|pair| Before { first: pair[0], second: pair[1] });
            kept.extend(pairs);
        }
        kept
    }
}

/// When to give up.
#[derive(Clone, Copy, Debug, Default)]
pub struct Bounds<'a> {
    /// Conflicts of the solver: the same answer every time.
    pub conflicts: Option<u64>,
    /// Aborts; the answer says so.
    pub time: Option<Duration>,
    /// Set by another thread (Ctrl-C) to stop at once.
    pub interrupt: Option<&'a AtomicBool>,
}

/// What [`Solver::nearest`] minimises (MaxSMT DSPs, §4.2).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Goal {
    /// The weighted sum of the criteria.
    Sum(Weights),
    /// Data-flow variations, then broken segments, then context-switch variations.
    Lexicographic,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Weights {
    pub data_flow: u32,
    pub segments: u32,
    pub switches: u32,
}

/// An order, and what it takes initial values nobody knows to be.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Found {
    pub order: Vec<StepId>,
    pub initial: Vec<(Cell, u128)>,
}

/// An order with its distance.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Nearest {
    pub order: Vec<StepId>,
    /// Data-flow variations, broken segments, context-switch variations.
    pub cost: [u32; 3],
    /// No order has less: for a sum its value in the first place, else one for each criterion.
    pub bound: [u32; 3],
}

/// What a solver says.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Answer<T> {
    Yes(T),
    /// There is none: proved.
    No,
    /// A bound was reached, or something has no encoding.
    Unknown {
        reason: String,
        best: Option<T>,
    },
}

/// A decision procedure for orders.
pub trait Solver {
    /// Name and version, for reports.
    fn name(&self) -> String;

    /// Any order that the query allows.
    fn find(&mut self, query: &Query<'_>) -> Answer<Found>;

    /// Some of `query.assume` (indices) that cannot hold together with the rest of the query; not necessarily
    /// minimal. `No` if all of them can.
    fn core(&mut self, query: &Query<'_>) -> Answer<Vec<usize>>;

    /// An order nearest to `query.near`.
    fn nearest(&mut self, query: &Query<'_>, goal: Goal) -> Answer<Nearest>;

    /// A core of which no member can be left out. `best` is a core that may have such members.
    fn minimal_core(&mut self, query: &Query<'_>) -> Answer<Vec<usize>> {
        minimal_core(self, query)
    }

    /// Steps of a model up to which a proof that nobody asked for is worth a try.
    fn proves_up_to(&self) -> usize;

    /// Conflicts that the last question took, if the solver counts them.
    fn conflicts(&self) -> Option<u64> {
        None
    }
}

/// Leaves members out, many at once and then fewer, as long as it stays a core.
pub(crate) fn minimal_core<S: Solver + ?Sized>(
    solver: &mut S,
    query: &Query<'_>,
) -> Answer<Vec<usize>> {
    let begun = Instant::now();
    let mut core = match solver.core(query) {
        Answer::Yes(core) => core,
        other => return other,
    };
    let mut conflicts = solver.conflicts().unwrap_or(0);
    // The first so many can none of them be left out; so many of the next are tried at once.
    let mut needed = 0;
    let mut many = core.len() / 2;
    while needed < core.len() {
        many = many.clamp(1, core.len() - needed);
        let fewer = [&core[..needed], &core[needed + many..]].concat();
        let bounds = Bounds {
            conflicts: query.bounds.conflicts.map(|limit| limit.saturating_sub(conflicts)),
            time: query.bounds.time.map(|limit| limit.saturating_sub(begun.elapsed())),
            ..query.bounds
        };
        let assume = fewer.iter().map(|index| query.assume[*index]).collect();
        let answer = solver.core(&Query { assume, bounds, ..query.clone() });
        conflicts += solver.conflicts().unwrap_or(0);
        match answer {
            // What was needed is in every core of what is left, and still comes first.
            Answer::Yes(smaller) => core = smaller.iter().map(|index| fewer[*index]).collect(),
            Answer::No if many > 1 => many /= 2,
            Answer::No => {
                needed += 1;
                many *= 2;
            }
            Answer::Unknown { reason, .. } => return Answer::Unknown { reason, best: Some(core) },
        }
    }
    Answer::Yes(core)
}
