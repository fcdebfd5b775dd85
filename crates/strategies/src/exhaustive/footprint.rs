//! What a step touches, and whether two steps depend on each other.
//!
//! The relation is that of `dependence.rs`, over all events of a step: an atomic section is one step with many. Beyond
//! it, three kinds of steps depend on everything: the end of the process, a cancellation (the other thread looks at it
//! without an event), and a timeout (it happens only when nothing else can, so whatever enables somebody prevents it).
//!
//! Dependence as Source-DPOR needs it: one pair too many costs runs, one too few would cost classes.

use unravel_trace::{Op, Operand, Pending, Role, Touch, touches};

/// A part of memory that a step touches, and what that means for a lock.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct Access {
    pub touch: Touch,
    pub role: LockRole,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum LockRole {
    Acquires,
    /// The same, of a lock that has room for one, and however long that takes.
    Takes,
    Releases,
    /// At a barrier.
    Arrives,
    Leaves,
    /// Waits for the end of a thread, however long that takes.
    Joins,
    Other,
}

/// The accesses of an event.
pub(super) fn accesses(event: &Pending) -> impl Iterator<Item = Access> + use<> {
    let operand = event.operand;
    touches(event).map(move |touch| {
        let role = match touch.role {
            Role::Acquire if operand == Operand::Alone => LockRole::Takes,
            Role::Acquire | Role::AcquireShared => LockRole::Acquires,
            Role::Release => LockRole::Releases,
            Role::Arrive(_) => LockRole::Arrives,
            Role::Leave(_) => LockRole::Leaves,
            Role::Life if matches!(operand, Operand::End(_)) => LockRole::Joins,
            _ => LockRole::Other,
        };
        Access { touch, role }
    })
}

/// Whether an event depends on every other.
pub(super) fn is_global(op: Op) -> bool {
    matches!(op, Op::End | Op::Cancel)
}

/// What a step of a thread touched when it was executed, kept for when it could be executed again.
#[derive(Clone, Debug, Default)]
pub(super) struct Footprint {
    pub accesses: Vec<Access>,
    /// It depends on every other step.
    pub everything: bool,
    /// The run ended in it, before other threads could go on.
    pub ends: bool,
}

impl LockRole {
    /// Whether it takes a lock.
    pub fn acquires(self) -> bool {
        matches!(self, LockRole::Acquires | LockRole::Takes)
    }
}

impl Footprint {
    pub fn depends_on(&self, accesses: &[Access], everything: bool) -> bool {
        self.everything
            || everything
            || self.accesses.iter().any(|a| accesses.iter().any(|b| a.touch.conflicts(&b.touch)))
    }

    /// Of a step that may go either way.
    pub fn add(&mut self, other: Footprint) {
        self.accesses.extend(other.accesses);
        self.everything |= other.everything;
        self.ends |= other.ends;
    }
}
