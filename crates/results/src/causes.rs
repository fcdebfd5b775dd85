//! What `causes` and `repair` say of a program. The rooms of these names make it, reports print it.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use unravel_trace::{BugId, EventKey, Failure, LeftOut, Place, Schedule, SourceLine, ThreadName};

use crate::{CausalOrder, Pattern, TriedInput};

/// Every cause of a program's failures, up to a bound.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Causes {
    /// The program's name, without directory and ending.
    pub program: String,
    /// The command that finds them again.
    pub command: String,
    /// Distinct failures, those with the most failing classes first.
    pub bugs: Vec<CausedBug>,
    pub verdict: CausesVerdict,
    /// Causes whose orders are between the same lines are one class.
    pub classes: Vec<CauseClass>,
    /// The orders of all causes between lines, each once.
    pub unique: Vec<LineOrder>,
    pub extent: Extent,
    /// The inputs that were tried, where the program asks for values that were not given. All that is said holds for these.
    pub inputs: Vec<TriedInput>,
    pub counts: CauseCounts,
    /// What the reader should know besides.
    pub notes: Vec<String>,
    pub elapsed: Duration,
}

/// Whether there is anything to find causes of.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum CausesVerdict {
    /// No schedule failed.
    NothingFails,
    /// Every schedule failed, of the inputs with which any did: the order of events has nothing to do with it.
    Sequential,
    /// Some schedules fail and others pass.
    Concurrent,
}

/// A failure, and how many classes of schedules end in it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct CausedBug {
    pub id: BugId,
    pub failure: Failure,
    pub classes: u64,
    /// Inputs with which it was seen: indices of [`Causes::inputs`].
    pub inputs: Vec<usize>,
    /// A schedule that fails so, with the fewest context switches of those that were seen.
    pub schedule: Schedule,
    /// Its trace file, if one was written, and the command that makes it happen again.
    pub trace: Option<String>,
}

/// How far the exploration went, and what it rests on.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Extent {
    pub schedules: u64,
    /// Classes of interleavings, of which so many pass and so many fail.
    pub passing: u64,
    pub failing: u64,
    /// Loop iterations and calls a run may take.
    pub max_steps: u64,
    /// The most that a run took, in visible events.
    pub most_events: u64,
    /// Whether values of `__VERIFIER_nondet_*` were fixed: other inputs were not looked at.
    pub fixed_inputs: bool,
    /// The environment deviated so often at most; whether it could have done so more often.
    pub deviations: u32,
    pub could_deviate: bool,
    /// What is missing.
    pub left_out: Vec<LeftOut>,
}

impl Extent {
    /// Whether all classes of schedules were executed, of the inputs that were tried, and are accounted for: nothing was left out.
    /// Every claim about all causes is made from this.
    pub fn is_complete(&self) -> bool {
        self.schedules > 0 && self.left_out.is_empty()
    }
}

/// The columns of ConcBugAssist's table 5.2.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct CauseCounts {
    /// Failing schedules that had to be blocked until none was left: causes before lines are compared.
    pub iterations: u64,
    /// Orders between conflicting accesses of different threads in a failing schedule, on average.
    pub constraints: f64,
    /// Orders in a cause, on average.
    pub core: f64,
    /// Distinct orders between lines in all causes.
    pub unique: u64,
}

impl CauseCounts {
    /// Unique orders in all causes, as a share of those in one failing schedule.
    pub fn reduction(&self) -> f64 {
        if self.constraints > 0.0 { self.unique as f64 / self.constraints } else { 0.0 }
    }
}

/// Causes that are the same for a reader: their orders are between the same lines.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct CauseClass {
    /// The first is the simplest.
    pub causes: Vec<Cause>,
    pub pattern: Pattern,
    /// What happens, in one sentence; and what should hold instead.
    pub sentence: String,
    pub advice: String,
    /// What each thread must be kept from being interrupted in: the stretch of its events in the first cause.
    pub regions: Vec<CauseRegion>,
    /// An earlier class (its index) with the same regions.
    pub same_regions_as: Option<usize>,
    /// Failures that these causes lead to, first the one that they account for most (others may come before it and hide it): indices
    /// of [`Causes::bugs`].
    pub bugs: Vec<usize>,
    /// Inputs with which they do: indices of [`Causes::inputs`].
    pub inputs: Vec<usize>,
}

/// A minimal set of orders; every passing schedule breaks one of them.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Cause {
    pub orders: Vec<CausalOrder>,
    /// A schedule that keeps all of them, and fails.
    pub failing: Schedule,
    /// Orders between conflicting accesses of different threads in that schedule.
    pub constraints: u64,
    /// Failing classes of schedules that keep all orders and were not blocked by an earlier cause.
    pub blocks: u64,
    /// Whether no order can be left out: each has a passing schedule that breaks it and no other.
    pub minimal: bool,
}

/// What one thread does in a cause, from its first event there to its last.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct CauseRegion {
    pub thread: ThreadName,
    pub from: Place,
    pub to: Place,
}

/// An order between source lines.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub struct LineOrder {
    pub first: SourceLine,
    pub second: SourceLine,
    /// What both touch.
    pub object: String,
}

impl fmt::Display for LineOrder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} → {}", self.first.short(), self.second.short())
    }
}

/// Where an event of a cause is, with the calls that lead there: what a repair has to know.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct EventStack {
    pub key: EventKey,
    /// Innermost first.
    pub stack: Vec<Place>,
}
