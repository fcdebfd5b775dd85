//! Searches that decide run by run what comes next, and know when everything is explored.
//!
//! Such a search lives in one process and sees all its runs. Several processes share the work as *lanes*: each lane
//! does its part, and together they do exactly what one would, without talking to each other.

use unravel_trace::{LeftOut, Method, Note, Outcome, Run, Scheduler};

/// A search that decides what comes next from what its runs did.
///
/// All its runs have the same input and the same visible set, and look for what they share (`Want::learn`); those of
/// exhaustive search do not wait busily (`Want::prune_spins`). A search does not know its visible set: if a run learns a
/// site that is not in it, whoever executes the runs must begin a new search.
pub trait Systematic {
    /// The scheduler of the next run; `None` when everything is explored. [`Systematic::learn`] must hear of the run
    /// before the next one is asked for.
    fn scheduler(&mut self) -> Option<Box<dyn Scheduler + '_>>;

    /// The run is over.
    fn learn(&mut self, run: &Run) -> Counted;

    fn summary(&self) -> unravel_trace::Reached;
}

/// What a run was good for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Counted {
    /// A class of interleavings (of context bounding: a schedule) that no other run has shown.
    New,
    /// All it could have shown was shown by other runs; mostly it was stopped before its end.
    Redundant,
    /// An assumption did not hold: it is no run of the program.
    Assumed,
    /// What it began belongs to another lane.
    NotMine,
    /// It could not be followed to its end: something is left out.
    Cut,
}

/// What a systematic search has counted.
#[derive(Debug, Default)]
pub(crate) struct Count {
    runs: u64,
    classes: u64,
    /// Deviations that runs may have; had; and whether they could have had more.
    deviations: u32,
    deviated: u32,
    could_deviate: bool,
    /// Some run was given up at its bound of steps.
    is_cut_short: bool,
    /// What was not explored, each reason once.
    left_out: Vec<LeftOut>,
}

impl Count {
    pub fn within(deviations: u32) -> Count {
        Count { deviations, ..Count::default() }
    }

    pub fn leave_out(&mut self, what: LeftOut) {
        if !self.left_out.contains(&what) {
            self.left_out.push(what);
        }
    }

    /// Counts a run, and what it says about the completeness of the search.
    pub fn add(&mut self, run: &Run, counted: Counted) -> Counted {
        self.runs += 1;
        self.classes += u64::from(counted == Counted::New);
        self.deviated = self.deviated.max(run.deviated.len() as u32);
        self.could_deviate |= run.could_deviate;
        if run.notes.contains(&Note::StepBound) {
            self.is_cut_short = true;
        }
        if let Outcome::Inconclusive { reason, .. } = &run.outcome {
            self.leave_out(LeftOut::Inconclusive { reason: reason.clone() });
        }
        if !run.nondet.is_empty() {
            self.leave_out(LeftOut::OtherValues);
        }
        counted
    }

    pub fn summary(
        &self,
        method: Method,
        ended: bool,
        bound: Option<u32>,
    ) -> unravel_trace::Reached {
        unravel_trace::Reached {
            method,
            schedules: self.runs,
            classes: self.classes,
            is_over: ended,
            deviations: self.deviations,
            deviated: self.deviated,
            could_deviate: self.could_deviate,
            is_cut_short: self.is_cut_short,
            bound,
            left_out: self.left_out.clone(),
        }
    }
}
