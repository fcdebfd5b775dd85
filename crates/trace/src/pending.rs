//! The event a thread is about to execute, as schedulers and observers see it.

use serde::{Deserialize, Serialize};

use crate::{SiteId, ThreadId};

/// The event a thread will execute when it is chosen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Pending {
    pub op: Op,
    /// Address of the location or sync object, for [`Op::Start`] of the thread's stack; 0 if there is none.
    pub address: u64,
    pub bytes: u32,
    pub site: SiteId,
    /// If the site is in a header of the system, and the scheduler asks for it ([`crate::Scheduler::names_callers`]): the
    /// innermost call from the user's own code.
    pub caller: Option<SiteId>,
    pub operand: Operand,
    /// Whether this access to memory is an atomic operation.
    pub atomic: bool,
}

/// What else an event is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Operand {
    #[default]
    None,
    /// The mutex that a condition wait gives back, or that waking from it takes again.
    Mutex(u64),
    /// How many threads meet at the barrier that this [`Op::Release`] sets up.
    Parties(u32),
    /// The thread that starts, exits, is joined, is cancelled, is sent a signal ([`Op::Release`]),
    /// gets one ([`Op::Acquire`]) or, once the event is
    /// executed, was created.
    Thread(ThreadId),
    /// A lock that only one can have at a time, waited for however long that takes ([`Op::Acquire`]).
    Alone,
    /// The thread that is joined, however long that takes ([`Op::Join`]).
    End(ThreadId),
    /// An operation on what is behind a descriptor, which others may look at together with more of them (`poll`).
    Watched,
    /// A library function may write the program's memory here, unseen.
    UnseenWrites,
    /// Once it is executed: a compare-exchange that found another value than it expected, and only read ([`Op::Update`]).
    Refused,
    /// An update whose result nobody uses ([`Op::Update`]).
    Blind(Commuting),
    /// Once it is executed: who arrives at a barrier ([`Op::Wait`]) and does not look whether it was the last; and who leaves
    /// it ([`Op::Acquire`]).
    Meeting(Meeting),
}

/// Threads that meet at a barrier, as one of them sees it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Meeting {
    /// How many meetings there were before.
    pub number: u32,
    /// Whether nobody else is missing.
    pub is_full: bool,
}

/// Updates of which two of a kind leave the same, whichever comes first.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub enum Commuting {
    /// Adds or subtracts.
    Add,
    And,
    Or,
    Xor,
}

impl Pending {
    #[inline]
    pub fn mutex(&self) -> Option<u64> {
        match self.operand {
            Operand::Mutex(mutex) => Some(mutex),
            _ => None,
        }
    }

    #[inline]
    pub fn thread(&self) -> Option<ThreadId> {
        match self.operand {
            Operand::Thread(thread) | Operand::End(thread) => Some(thread),
            _ => None,
        }
    }
}

/// The kind of a pending event, as far as schedulers care.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Op {
    Start,
    Read,
    Write,
    Update,
    Acquire,
    AcquireShared,
    Release,
    Wait,
    Signal,
    Fork,
    Join,
    Exit,
    Cancel,
    /// The whole process ends, with all its threads.
    End,
    Alloc,
    Free,
    Fence,
    Yield,
    External,
}
