//! What a person should know of a run besides how it ended.

use serde::{Deserialize, Serialize};

use crate::Place;

/// Something that the user should know of a run. `report` has the words; trace files store it, so a new variant goes to
/// the end and is a new format.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Note {
    /// The program sends, masks or awaits signals. Those from outside never come.
    SignalsIgnored,
    /// A thread asked to be cancelled at any time. It is cancelled where it could wait.
    CancellationDeferred,
    /// A thread loops without looking at anything, which says that the program does not want to be here.
    EndlessLoop,
    /// Of a run with [`crate::Want::prune_spins`]: a thread had to wait that never came back to a state it was in.
    HeldBack,
    /// What an importer says of its files, and what an older trace file says that nobody knows any more.
    Other(String),
    /// What threads saw of the clock, or who of them was first, depends on the order in which they looked, on how long others worked, or on
    /// when exactly a loop that reads it was over.
    ClockOrder,
    /// The run was cut short at its bound of steps.
    StepBound,
    /// A timer was set whose signal would end the process. It fires only when nothing else can happen.
    TimerMoments,
    /// Functions that no source and no library has, each with the places that call it. A run ends inconclusive there.
    Missing(Vec<MissingFunction>),
    /// Functions that were to be stubs and are not missing.
    NoStub(Vec<String>),
    /// Functions of a library that was loaded although another one in this process has the same names: calls inside that
    /// library may go to the other one.
    Eclipsed(Vec<String>),
    /// A thread ended the process with a code other than 0 while others were alive: what they would have come to is not known.
    GaveUp,
    /// The program has an error function of the verification competition, so that its `abort` is an assumption that did not hold.
    AbortAssumed,
    /// With [`crate::Limits::lenient_locks`]: a mutex was unlocked by a thread that did not hold it.
    ForeignUnlock,
}

/// A function that is declared and called, and defined nowhere.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct MissingFunction {
    pub name: String,
    /// Its calls, in order of the program; none if only its address is taken.
    pub calls: Vec<Place>,
}
