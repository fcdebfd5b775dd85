//! The race of a diagnosis.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use unravel_results as results;

use super::run::{Place, places};

/// Two accesses that nothing orders.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Race {
    /// What both touch.
    pub object: String,
    /// In the order in which they were executed.
    pub accesses: Vec<RaceAccess>,
    /// The lock that is held at most accesses to the object in this run; null if none is.
    pub guard: Option<Guard>,
}

/// One of the two accesses.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct RaceAccess {
    pub thread: String,
    /// `reads`, `writes`, `updates` or `frees`.
    pub verb: String,
    /// Whether it is an atomic operation.
    pub atomic: bool,
    pub place: Place,
    /// Innermost first.
    pub stack: Vec<Place>,
    /// Locks that its thread holds, in the order of taking.
    pub holds: Vec<HeldLock>,
}

/// A lock that a thread holds.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct HeldLock {
    pub name: String,
    /// Only for reading.
    pub shared: bool,
    /// Where it was taken.
    pub taken: Place,
}

/// A lock that seems to guard the object.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Guard {
    pub lock: String,
    /// Lines that access the object with it held.
    pub held_at: Vec<Place>,
    /// Lines that access the object without it, while several threads were alive.
    pub missing_at: Vec<Place>,
}

impl From<&results::Race> for Race {
    fn from(race: &results::Race) -> Race {
        Race {
            object: race.object.clone(),
            accesses: race.accesses.iter().map(RaceAccess::from).collect(),
            guard: race.guard.as_ref().map(|guard| Guard {
                lock: guard.lock.clone(),
                held_at: places(&guard.held_at),
                missing_at: places(&guard.missing_at),
            }),
        }
    }
}

impl From<&results::RaceAccess> for RaceAccess {
    fn from(access: &results::RaceAccess) -> RaceAccess {
        let lock = |held: &results::HeldLock| HeldLock {
            name: held.name.clone(),
            shared: held.shared,
            taken: (&held.taken).into(),
        };
        RaceAccess {
            thread: access.who.key.thread.to_string(),
            verb: access.who.verb.to_string(),
            atomic: access.atomic,
            place: (&access.who.place).into(),
            stack: places(&access.stack),
            holds: access.holds.iter().map(lock).collect(),
        }
    }
}
