//! What the environment may do although an ordinary system hardly ever does it.
//!
//! An ordinary system is the one that a programmer has in mind: whoever can run does so before time passes, the earliest
//! deadline comes first, a wait ends because somebody ended it. Nothing promises that. A *deviation* is one step away from
//! it, and a run is told by how many it has: searches try runs without any, then with one, then with two, and a claim
//! names the bound. Deviations that are a matter of time are choices of a thread ([`crate::View::early`]); the others are
//! answers to a question ([`crate::Scheduler::deviate`]).

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{Input, SiteId, ThreadId, ThreadName};

/// How the environment may deviate.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Deviation {
    /// A sleep is over although others could have run, or were to wake before: they are late.
    Stall,
    /// The same of a wait with a timeout.
    EarlyTimeout,
    /// A condition wait ends without a signal.
    SpuriousWakeup,
    /// A weak compare-exchange fails although the value is the expected one.
    WeakFailure,
    /// `try_lock` of C11 or C++ fails although the mutex is free.
    TryLockFailure,
    /// There is no memory.
    NoMemory,
}

impl Deviation {
    pub const ALL: [Deviation; 6] = {
        use Deviation::*;
        [Stall, EarlyTimeout, SpuriousWakeup, WeakFailure, TryLockFailure, NoMemory]
    };

    /// The name used in files.
    pub fn name(self) -> &'static str {
        match self {
            Deviation::Stall => "stall",
            Deviation::EarlyTimeout => "early-timeout",
            Deviation::SpuriousWakeup => "spurious-wakeup",
            Deviation::WeakFailure => "weak-cas",
            Deviation::TryLockFailure => "try-lock",
            Deviation::NoMemory => "malloc",
        }
    }
}

impl fmt::Display for Deviation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A deviation that happened.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Deviated {
    pub kind: Deviation,
    /// Whose sleep, wait or attempt it was.
    pub thread: ThreadId,
    pub site: SiteId,
    /// Which of the thread's questions it answers; none if it is a choice of the schedule.
    pub question: Option<u32>,
}

/// A question of a thread that is answered by a deviation, whatever the schedule: its number among the thread's own, so
/// that it means the same in other orders.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Forced {
    pub thread: ThreadName,
    pub question: u32,
}

/// An input with these deviations in it.
pub(crate) fn force(input: &mut Input, deviated: &[Deviated], names: &[ThreadName]) {
    let forced = deviated.iter().filter_map(|deviated| {
        let thread = names.get(deviated.thread.index())?.clone();
        Some(Forced { thread, question: deviated.question? })
    });
    input.forced = forced.collect();
}
