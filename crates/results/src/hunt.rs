//! What a hunt says: failures that never happened, found from runs that passed. `hunt` makes it, reports print it.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use unravel_trace::{Failure, Place, ThreadName};

use crate::{Alternate, AttemptEnd, Diagnosis, HuntGap, HuntStop, InputValue, Observed};

/// The result of a hunt.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Hunt {
    pub program: String,
    /// The command that does it again.
    pub command: String,
    pub runs: RunsSeen,
    pub bounds: HuntBounds,
    pub effort: HuntEffort,
    /// In the order they were found.
    pub exposed: Vec<Exposed>,
    pub end: HuntEnd,
    /// What was tried, attempt by attempt; the first ones.
    pub journal: Vec<Attempt>,
    /// What the reader should know: what was not followed, what was left out.
    pub notes: Vec<String>,
    pub time: Duration,
}

/// The runs that a hunt starts from.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct RunsSeen {
    pub executed: u64,
    pub passing: u64,
    /// They failed by themselves, and are put aside.
    pub failing: u64,
    /// They left an assumption, or could not be followed to their end.
    pub unusable: u64,
    /// Different combinations of what threads did, those from the database included.
    pub distinct: u64,
    /// Of these, known from before.
    pub known_before: u64,
}

/// How far a hunt looks (thesis §5.2.2.2: the tuple (D, N)).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct HuntBounds {
    /// D: branches nearest to an assertion that are flipped.
    pub depth: u32,
    /// N: traces that are tried for one flipped branch.
    pub traces: u32,
    /// Branches flipped at once.
    pub flips: u32,
}

/// What a hunt did.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct HuntEffort {
    /// Executions that were synthesised and asked about: what Cortex counts as tries.
    pub attempts: u64,
    /// Observed combinations that were asked about first.
    pub observed: u64,
    /// Single questions to the solver.
    pub queries: u64,
    /// Ways to fail, and branches, that data flow alone rules out: no known write gives such a value.
    pub ruled_out: u64,
    /// Combinations that had been asked about already.
    pub redundant: u64,
    /// Traces of flipped branches that the database had.
    pub from_database: u64,
    /// Traces that were made: by executing a promised order, or by guided symbolic execution.
    pub synthesised: u64,
    /// Questions without an answer.
    pub unknown: u64,
    /// Orders that the solver promised.
    pub promised: u64,
    /// Of these, what execution refused, and why.
    pub refused: Vec<Refused>,
    /// Programs executed, the runs at the start included.
    pub executions: u64,
    /// Times that the hunt began anew because more memory was shared than was known.
    pub renewals: u64,
}

/// One attempt.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Attempt {
    pub number: u64,
    /// What goes another way than in the run it was derived from.
    pub flips: Vec<Flip>,
    pub traces: TraceSource,
    pub result: AttemptEnd,
}

/// Where the trace of a thread came from that goes another way.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum TraceSource {
    /// Some run did that already.
    Database,
    /// An order was asked for in which the branch turns, and executed.
    Execution,
    /// Guided symbolic execution.
    Symbolic,
}

/// Promises that execution did not keep.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Refused {
    pub reason: String,
    pub count: u64,
}

/// How a hunt ended.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum HuntEnd {
    /// With the first failure, as it was asked to.
    Found,
    /// There is nothing left to ask within the bounds; every question was answered.
    Exhausted,
    /// Nothing is left to ask, but some answers are missing.
    Incomplete { why: Vec<HuntGap> },
    /// It had to stop first.
    Stopped { why: HuntStop, left: u64 },
}

/// A failure that was exposed, and executed.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Exposed {
    pub failure: Failure,
    pub how: How,
    /// The number of the attempt that found it; 1 if the schedule alone was enough.
    pub attempt: u64,
    /// D and N that would have been enough.
    pub depth: u32,
    pub traces: u32,
    /// Branches that go another way than in the run it was derived from.
    pub flips: Vec<Flip>,
    /// Branches that were flipped to get there, and traces that were made.
    pub flipped: u64,
    pub synthesised: u64,
    /// Inputs that it needs.
    pub inputs: Vec<InputValue>,
    /// Visible events of the failing run.
    pub events: u64,
    /// The run that passed, which this one was derived from, and what differs: the differential path-schedule projection.
    pub derived: Option<Box<Derived>>,
    pub diagnosis: Option<Box<Diagnosis>>,
    /// Why there is no diagnosis.
    pub undiagnosed: Option<String>,
    /// The trace file that replays it.
    pub trace: Option<String>,
    /// From the first question to the failure.
    pub time: Duration,
}

/// A failure beside the run it was derived from.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Derived {
    pub failing: Observed,
    pub passing: Alternate,
}

/// How a failure came about.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum How {
    /// One of the runs at the start failed.
    ByItself,
    /// What the threads of some run did, in another order.
    BySchedule,
    /// Some thread took another path.
    ByPath,
}

/// A branch that goes another way.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Flip {
    pub thread: ThreadName,
    pub place: Place,
    pub kind: FlipKind,
}

/// What goes another way.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum FlipKind {
    Branch,
    /// Of a trylock, or of who is first to initialise.
    Answer,
    /// An address, or what a library function is given.
    Value,
}
