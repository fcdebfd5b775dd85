//! What a thread does in an event, for a sentence.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::EventKind;

/// What a thread does, as far as sentences tell it apart; its `Display` is the word in `T0.1 writes x`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub enum Verb {
    Reads,
    Writes,
    Updates,
    Locks,
    Unlocks,
    TryLocks,
    FailsToLock,
    WaitsOn,
    WakesFrom,
    Signals,
    Broadcasts,
    WaitsFor,
    Takes,
    FailsToTake,
    Posts,
    ArrivesAt,
    Leaves,
    Enters,
    Finishes,
    Initialises,
    Destroys,
    Creates,
    Starts,
    Exits,
    Joins,
    Cancels,
    Allocates,
    Frees,
    Asserts,
    Fences,
    Yields,
    Calls,
    BeginsSection,
    /// An event that nobody recorded, because its thread never got to it: it would take or give back a sync object.
    Acquires,
    Releases,
    /// A step of which nothing else is known.
    GoesOn,
    /// The process ends, with all its threads.
    EndsProcess,
}

impl Verb {
    /// Whether the thread gets a lock by this, or would.
    pub fn takes_lock(self) -> bool {
        matches!(self, Verb::Locks | Verb::TryLocks | Verb::Acquires)
    }
}

impl fmt::Display for Verb {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Verb::Reads => "reads",
            Verb::Writes => "writes",
            Verb::Updates => "updates",
            Verb::Locks => "locks",
            Verb::Unlocks => "unlocks",
            Verb::TryLocks => "trylocks",
            Verb::FailsToLock => "fails to lock",
            Verb::WaitsOn => "waits on",
            Verb::WakesFrom => "wakes from",
            Verb::Signals => "signals",
            Verb::Broadcasts => "broadcasts",
            Verb::WaitsFor => "waits for",
            Verb::Takes => "takes",
            Verb::FailsToTake => "fails to take",
            Verb::Posts => "posts",
            Verb::ArrivesAt => "arrives at",
            Verb::Leaves => "leaves",
            Verb::Enters => "enters",
            Verb::Finishes => "finishes",
            Verb::Initialises => "initialises",
            Verb::Destroys => "destroys",
            Verb::Creates => "creates a thread",
            Verb::Starts => "starts",
            Verb::Exits => "exits",
            Verb::Joins => "joins a thread",
            Verb::Cancels => "cancels a thread",
            Verb::Allocates => "allocates",
            Verb::Frees => "frees",
            Verb::Asserts => "asserts",
            Verb::Fences => "fences",
            Verb::Yields => "yields",
            Verb::Calls => "calls",
            Verb::BeginsSection => "begins an atomic section",
            Verb::Acquires => "acquires",
            Verb::Releases => "releases",
            Verb::GoesOn => "goes on",
            Verb::EndsProcess => "ends the process",
        })
    }
}

impl EventKind {
    /// What the thread does, for a sentence: `T0.1 writes x`.
    pub fn does(&self) -> Verb {
        use EventKind::*;
        match self {
            Read { .. } => Verb::Reads,
            Write { .. } => Verb::Writes,
            ReadModifyWrite { .. } => Verb::Updates,
            Lock { .. } => Verb::Locks,
            Unlock { .. } => Verb::Unlocks,
            TryLock { acquired: true, .. } => Verb::TryLocks,
            TryLock { acquired: false, .. } => Verb::FailsToLock,
            Wait { .. } => Verb::WaitsOn,
            Wake { .. } => Verb::WakesFrom,
            Signal { .. } => Verb::Signals,
            Broadcast { .. } => Verb::Broadcasts,
            SemWait { .. } => Verb::WaitsFor,
            SemTryWait { acquired: true, .. } => Verb::Takes,
            SemTryWait { acquired: false, .. } => Verb::FailsToTake,
            SemPost { .. } => Verb::Posts,
            BarrierArrive { .. } => Verb::ArrivesAt,
            BarrierLeave { .. } => Verb::Leaves,
            Once { .. } => Verb::Enters,
            OnceDone { .. } => Verb::Finishes,
            SyncInit { .. } => Verb::Initialises,
            SyncDestroy { .. } => Verb::Destroys,
            Fork { .. } => Verb::Creates,
            Start => Verb::Starts,
            Exit => Verb::Exits,
            Join { .. } => Verb::Joins,
            Cancel { .. } => Verb::Cancels,
            Alloc { .. } => Verb::Allocates,
            Free { .. } => Verb::Frees,
            Assertion => Verb::Asserts,
            Fence => Verb::Fences,
            Yield => Verb::Yields,
            External { .. } | Descriptor { .. } => Verb::Calls,
            AtomicBegin => Verb::BeginsSection,
        }
    }
}
