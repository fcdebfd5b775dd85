//! What a concolic run knows besides its trace: the same events, as functions of what their reads returned.
//!
//! After Symbiosis (Machado, Lucia, Rodrigues: *Concurrency Debugging with Differential Schedule Projections*):
//! a shared read returns a fresh symbol, a write stores an expression over earlier symbols of its thread,
//! branches on symbols and symbolic addresses become conditions, and the failure becomes the bug condition.
//! Given these and a total order of the steps, every value follows; no program is needed to tell how it ends.
//!
//! *Not modelled*: what happens after the recorded path is left; results of native calls (they keep their
//! concrete values); inputs, which are constants unless the run was to leave them open ([`crate::FreeInput`]).

use serde::{Deserialize, Serialize};

use crate::{ExprId, Exprs, LocationId, SiteId, ThreadId, ThreadName};

/// The symbolic side of one run. Belongs to [`crate::Run::trace`].
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Symbolic {
    pub exprs: Exprs,
    /// One for each event of the trace.
    pub shadows: Vec<Shadow>,
    /// All reads and writes of memory that events make. The symbol of a read is the index of its access.
    pub accesses: Vec<Access>,
    /// What a scheduler chooses among, in the order of the run. Events of one step cannot be parted.
    pub steps: Vec<Step>,
    /// What must hold for the threads to take the recorded paths.
    pub conditions: Vec<Condition>,
    /// Memory that is read, as it was before the run, sorted by address, without overlaps.
    pub initial: Vec<Initial>,
    /// Sync objects in use when recording began (before it nothing leaves an event): semaphores and barriers that
    /// were set up, locks that were held. What is not listed is inferred from the events.
    pub sync: Vec<InitialSync>,
    /// Cells that are inputs of the program rather than memory, where these are symbols ([`crate::FreeInput`]). Their
    /// initial values are unknown: any input will do.
    pub inputs: Vec<InputCell>,
    pub bug: Bug,
    /// The branch that decided the bug, where the failure itself came only after further branches: a run that
    /// passes takes another path from here.
    pub parted_at: Option<SiteId>,
    /// What the order of `trace.events` and `steps` means.
    pub order: KnownOrder,
}

/// Whether the order of steps was observed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub enum KnownOrder {
    /// They happened in this order, and the run failed as it says.
    #[default]
    Observed,
    /// Only the order within each thread is known: a failing schedule is to be found.
    Unknown,
}

/// The accesses of one event: `reads` of them from `first` on, then `writes`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Shadow {
    pub first: u32,
    pub reads: u32,
    pub writes: u32,
}

/// One read or write of up to sixteen bytes.
///
/// Addresses at or above [`SYNTHETIC`] are no memory but cells of our own: whether a heap object is alive
/// ([`liveness_cell`]), what a thread returned ([`result_cell`]), an input ([`input_cell`]).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Access {
    pub address: u64,
    /// 1 to 16.
    pub bytes: u8,
    /// `8 × bytes` wide. For a read its symbol, for a write what is stored; little-endian.
    pub value: ExprId,
}

/// Where cells begin that are not memory of the program.
pub const SYNTHETIC: u64 = 1 << 63;

/// One byte, 1 while the heap object at this address is alive: `alloc` writes 1, `free` reads it and writes 0,
/// accesses to the object read it.
pub fn liveness_cell(object: u64) -> u64 {
    SYNTHETIC | object
}

/// Eight bytes: what a thread returned. Its exit writes them, joining it reads them.
pub fn result_cell(thread: ThreadId) -> u64 {
    SYNTHETIC | 1 << 62 | u64::from(thread.0) << 3
}

/// Up to eight bytes: an input. What a thread was given by name is its own, and has the same cell in every run in which
/// the thread has this number; arguments and standard input have one cell, whoever reads them.
pub fn input_cell(what: &InputSource, reader: ThreadId) -> u64 {
    let (kind, thread, number) = match what {
        InputSource::Nondet { index, .. } => (0, reader.0, *index),
        InputSource::Argument { index } => (1, 0, *index),
        InputSource::Number { index } => (2, 0, *index),
        InputSource::Byte { offset } => (3, 0, *offset),
    };
    // A machine has far fewer threads than the bits left for them.
    SYNTHETIC | 1 << 61 | kind << 56 | u64::from(thread) << 35 | u64::from(number) << 3
}

/// Everything a thread does between two points: the visible event it was stopped before, and what comes with it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Step {
    pub thread: ThreadId,
    /// Index of its first event in the trace.
    pub first: u32,
    /// Usually 1; 0 for points that leave no event; more for atomic sections.
    pub events: u32,
}

impl Step {
    pub fn range(&self) -> std::ops::Range<usize> {
        self.first as usize..(self.first + self.events) as usize
    }
}

/// Something that held in the recorded run and keeps a thread on its path.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Condition {
    pub thread: ThreadId,
    /// Index of the event of this thread after which it was decided.
    pub after: u32,
    /// One bit.
    pub holds: ExprId,
    pub site: SiteId,
    pub why: ConditionKind,
    pub otherwise: Otherwise,
}

/// What its thread does where a condition does not hold.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub enum Otherwise {
    /// Nobody knows: another address, another answer of a library function.
    #[default]
    Unknown,
    /// It takes the other side of the branch with this number in its path ([`crate::ThreadPath::outcomes`]).
    Turns(u32),
    /// It fails, whatever else happens: an assertion, a use of freed memory.
    Fails,
    /// The process ends with another exit code.
    Exits,
    /// As [`Otherwise::Turns`], and there it is nearer to a place where it can only fail than where it went.
    Nears(u32),
}

impl Otherwise {
    /// The branch that goes the other way, by its number in the path.
    pub fn branch(self) -> Option<u32> {
        match self {
            Otherwise::Turns(branch) | Otherwise::Nears(branch) => Some(branch),
            Otherwise::Unknown | Otherwise::Fails | Otherwise::Exits => None,
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum ConditionKind {
    /// A branch or switch went this way.
    Branch,
    /// An address had this value.
    Address,
    /// A value was given to something that is not followed symbolically, or decided how a modelled function
    /// behaved.
    Fixed,
    /// An object was alive when it was accessed.
    Alive,
}

/// A cell that stands for an input. Each has an address of its own at or above [`SYNTHETIC`], the same in every run.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct InputCell {
    pub address: u64,
    pub bytes: u8,
    pub what: InputSource,
    /// What it was in this run.
    pub value: u64,
}

/// Which input a cell is.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum InputSource {
    /// What a thread's nth call (from 0) of `__VERIFIER_nondet_*` returned.
    Nondet { thread: ThreadName, index: u32 },
    /// The number that an argument (from 0, the program's name left out) spells, signed.
    Argument { index: u32 },
    /// The number that a word (from 0) of standard input spells, as `scanf` and its like read it, signed. Words are what
    /// blanks part, numbers or not.
    Number { index: u32 },
    /// A byte of standard input.
    Byte { offset: u32 },
}

/// Memory before the run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Initial {
    pub address: u64,
    /// 1 to 16.
    pub bytes: u8,
    /// `None` if nobody knows: any value, but the same in every schedule.
    pub value: Option<u128>,
}

/// A sync object as it was when recording began.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct InitialSync {
    pub at: LocationId,
    pub state: SyncState,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum SyncState {
    /// A semaphore with this value.
    Semaphore(u32),
    /// A barrier for this many threads, none of which has arrived.
    Barrier(u32),
    /// A lock that a thread holds. One entry a holder.
    Held { by: ThreadId, shared: bool },
    /// A once whose initialiser has run.
    Done,
}

/// What makes the run a failure.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub enum Bug {
    /// It did not fail.
    #[default]
    None,
    /// It fails where this one-bit expression is true, decided by `thread` after the event `after`.
    Condition { thread: ThreadId, after: u32, fails: ExprId },
    /// Nobody could go on: these requests were never granted.
    Deadlock { requests: Vec<Request> },
    /// It fails when this thread gets as far as after this event, whatever it read: only another path avoids it.
    Reached { thread: ThreadId, after: u32 },
    /// Only execution can tell (wrong output, a livelock, a check of the user's).
    Opaque,
}

/// A pending event that could not be executed when the run ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Request {
    pub thread: ThreadId,
    pub site: SiteId,
    pub wants: Wants,
}

/// What a blocked thread waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Wants {
    Lock {
        at: LocationId,
        shared: bool,
    },
    Wake {
        at: LocationId,
        mutex: LocationId,
    },
    Semaphore {
        at: LocationId,
    },
    Barrier {
        at: LocationId,
    },
    Once {
        at: LocationId,
    },
    Join {
        child: ThreadId,
    },
    /// A futex, a change of memory, a signal of the system: something without a model here.
    Other,
}
