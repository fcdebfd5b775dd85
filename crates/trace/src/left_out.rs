//! What a search did not explore, so that it is not complete. `report` has the words.

use serde::{Deserialize, Serialize};

use crate::Capability;

/// A reason why a search that came to its end has not explored everything.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum LeftOut {
    /// A run did other things than the run before it, with the same decisions.
    Unrepeated,
    /// A run could not be followed to its end, for this reason.
    Inconclusive {
        reason: String,
    },
    /// The program asks for nondeterministic values. Those of this input were tried, and no others.
    OtherValues,
    /// Exhaustive search follows no more threads than that.
    ManyThreads {
        most: u32,
    },
    /// Exhaustive search follows no longer runs than that.
    LongRuns {
        most: u64,
    },
    /// Of bounded search: with so many preemptions and more there were more schedules than it can keep in mind.
    Preemptions {
        from: u32,
        kept: u64,
    },
    /// Events do not tell everything.
    Unseen(BlindSpot),
    /// The program killed the process of a part of the search.
    Killed,
    /// The parts of a search that several machines divided knew of different shared memory.
    PartsDiffer,
    PartsMissing,
    /// There are more classes of schedules than those that were executed.
    OtherClasses {
        executed: u64,
    },
    /// Failing classes whose cause was not looked for.
    Unexplained {
        classes: u64,
    },
    /// There are more classes of schedules than there was time for.
    Time,
    /// Schedules that pass: another search met some, this one none.
    Passing,
    /// What needs an engine that can do this.
    Lacking(Capability),
}

/// What events do not tell of a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum BlindSpot {
    /// What library functions do to the program's memory.
    Library,
    /// A lock that is taken inside an atomic section may let others in where it waits.
    LocksInSections,
    /// A thread looks again and again for so long that it was held back ([`crate::Note::HeldBack`]).
    LongSpins,
    /// Memory turned out to be shared that was not visible.
    Shared,
    /// What several threads see of the clock ([`crate::Note::ClockOrder`]).
    Clock,
    /// A signal that another thread sends interrupts wherever it arrives.
    Signals,
    /// A function that returns takes its local variables along, which is no event.
    Frames,
    /// A mutex that is unlocked by whoever does not hold it ([`crate::Note::ForeignUnlock`]) keeps nobody out.
    ForeignUnlocks,
}
