//! Why the end of a hunt proves less than it could, and what came of its attempts. `report` has the words.

use serde::{Deserialize, Serialize};
use unravel_trace::{Capability, Incompatible};

/// What a hunt did not ask, or got no answer to.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum HuntGap {
    /// What threads did in different runs could not be put together.
    Incompatible(Incompatible),
    /// Whether a wait times out is as it was.
    Timeouts,
    /// Barriers that some thread never reaches.
    Barriers,
    /// Where a cancelled thread ends is as it was.
    Cancellation,
    /// What comes out of pipes, sockets and other descriptors is as it was.
    Descriptors,
    /// Semaphores were asked about one wait at a time, not in cycles.
    SemaphoreCycles,
    /// Uses of sync objects after they were destroyed.
    Destroyed,
    /// Threads that hold a lock while they join or initialise.
    WaitsWithLock,
    /// Which of several waiting threads a signal wakes is as it was, where it can be.
    Waiters,
    /// Of assertions, locks and waits in long loops only some rounds were asked about.
    LongLoops,
    /// A question had no answer, for this reason.
    Unanswered { why: String },
    /// What comes after a failure was not followed.
    AfterFailure,
    /// Execution refused what the model promised.
    Refused,
    /// Executions with so many flipped branches were not changed further.
    MostFlips { flips: u32 },
    /// So many branches nearest to the assertions were flipped, and no others.
    Depth { depth: u32 },
    /// Of sets of so many branches only the nearest were flipped together.
    Sets { branches: u32 },
    /// Of values that are not followed only some others were tried.
    Values,
    /// Of the ways of a switch only some were tried.
    Switches,
    /// Of the input only numbers were left open.
    OnlyNumbers,
    /// No run passed that the hunt could start from.
    NothingPassed,
    /// More memory is shared than was watched.
    MoreShared,
    /// The engine cannot lead threads along paths, so traces of branches that turn together were not made.
    Lacking(Capability),
}

/// Why a hunt had to stop.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum HuntStop {
    Interrupted,
    Time,
    /// A crash left the process in disorder.
    Damaged,
}

/// What came of an attempt.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum AttemptEnd {
    Fails,
    /// No order of what the threads do fails.
    NoOrderFails,
    /// No order makes the flipped branches go the other way.
    Impossible,
    /// The solver could not tell.
    Unknown,
    /// It passes, and so does every other order of it.
    Passes,
    /// It passes, and is what some run did before.
    PassesAsBefore,
}
