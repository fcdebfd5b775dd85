//! What a diagnosis says of a data race.

use serde::{Deserialize, Serialize};
use unravel_trace::Place;

use crate::Participant;

/// Two accesses that nothing orders.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Race {
    /// What both touch, as the programmer wrote it.
    pub object: String,
    /// In the order in which they were executed.
    pub accesses: [RaceAccess; 2],
    /// The lock that is held at most accesses to the object, if any is.
    pub guard: Option<Guard>,
}

/// One of the two.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct RaceAccess {
    pub who: Participant,
    /// Whether it is an atomic operation.
    pub atomic: bool,
    /// Innermost first.
    pub stack: Vec<Place>,
    /// In the order of taking.
    pub holds: Vec<HeldLock>,
}

/// A lock in the hands of a thread.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct HeldLock {
    pub name: String,
    /// Only for reading.
    pub shared: bool,
    pub taken: Place,
}

/// A lock that seems to guard an object.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Guard {
    pub lock: String,
    /// Lines that access the object with the lock held, and lines that do so without it while several threads were alive. One
    /// line may be in both.
    pub held_at: Vec<Place>,
    pub missing_at: Vec<Place>,
}
