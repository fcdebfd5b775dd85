//! What may be kept in schedules to see whether a failure goes away (design §14). Who keeps it is `execute`.

use serde::{Deserialize, Serialize};

use crate::{Event, Pending, Site, SiteId, ThreadName, Trace};

/// A place in the user's code: a site, and who called if it is in a header of the system.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub struct Mark {
    pub site: SiteId,
    pub caller: Option<SiteId>,
}

impl Mark {
    pub fn of_event(trace: &Trace, event: &Event) -> Mark {
        let inlined = trace.site(event.site).is_some_and(Site::is_inlined_in_own_code);
        Mark { site: event.site, caller: event.caller.filter(|_| !inlined) }
    }

    pub fn of(pending: &Pending) -> Mark {
        Mark { site: pending.site, caller: pending.caller }
    }
}

/// A thread, the same in every run, in a word.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct ThreadTag(u64);

impl ThreadTag {
    /// FNV-1a over the thread's path. Two threads of one program that share a tag would be taken for one another, which no
    /// number of threads that can be executed makes likely.
    pub fn of(name: &ThreadName) -> ThreadTag {
        let step = |hash: u64, part: &u32| {
            (hash ^ u64::from(*part)).wrapping_mul(0x0100_0000_01b3).rotate_left(29)
        };
        ThreadTag(name.0.iter().fold(0xcbf2_9ce4_8422_2325, step))
    }
}

/// What is kept in every schedule.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum Shield {
    /// From the event at one mark to that at the other, a thread is not interrupted; for `most` events if it does not get
    /// there. If it takes a lock on the way, it begins only where nobody else holds that: as if it were taken there.
    Atomic { from: Mark, to: Mark, most: u32, lock: Option<u64> },
    /// `then` waits until `first` was executed so many times, or can come no more.
    Order { first: Mark, times: u32, then: Mark },
    /// The same for what two threads do, once each: where they do it at one place, the marks alone do not tell who comes first.
    Between { first: Mark, of: ThreadTag, then: Mark, by: ThreadTag },
    /// Each `then` waits for a `first` of its own, the second for the second, as long as one can come; `ahead` of them come first.
    Turns { first: Mark, then: Mark, ahead: u32 },
    /// A wait at this place does not time out as long as anybody else can go on.
    Patient { at: Mark },
    /// The process does not end as long as another thread can go on.
    Outlived,
    /// When a thread first comes to this place, it waits until all threads below it have ended or can go on no more: as if it had
    /// joined them.
    Joined { by: ThreadTag, before: Mark },
    /// The environment answers as it usually does: no wake-up without a signal, no weak operation that fails for no reason, memory
    /// for everybody. Kept by whoever has the input, no scheduler can.
    Usual,
}

impl Shield {
    /// The places that it is about.
    pub fn marks(&self) -> Vec<Mark> {
        match *self {
            Shield::Atomic { from, to, .. } => vec![from, to],
            Shield::Order { first, then, .. }
            | Shield::Between { first, then, .. }
            | Shield::Turns { first, then, .. } => vec![first, then],
            Shield::Patient { at } => vec![at],
            Shield::Joined { before, .. } => vec![before],
            Shield::Outlived | Shield::Usual => Vec::new(),
        }
    }
}
