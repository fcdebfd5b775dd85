//! What may be kept in schedules to see whether a failure goes away (design §14). Who keeps it is `execute`.

use serde::{Deserialize, Serialize};

use crate::{Event, Pending, Site, SiteId, Trace};

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

/// What is kept in every schedule.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum Shield {
    /// From the event at one mark to that at the other, a thread is not interrupted; for `most` events if it does not get
    /// there. If it takes a lock on the way, it begins only where nobody else holds that: as if it were taken there.
    Atomic { from: Mark, to: Mark, most: u32, lock: Option<u64> },
    /// `then` waits until `first` was executed so many times, or can come no more.
    Order { first: Mark, times: u32, then: Mark },
    /// A wait at this place does not time out as long as anybody else can go on.
    Patient { at: Mark },
    /// The process does not end as long as another thread can go on.
    Outlived,
    /// The environment answers as it usually does: no wake-up without a signal, no weak operation that fails for no reason, memory
    /// for everybody. Kept by whoever has the input, no scheduler can.
    Usual,
}

impl Shield {
    /// The places that it is about.
    pub fn marks(&self) -> Vec<Mark> {
        match *self {
            Shield::Atomic { from, to, .. } => vec![from, to],
            Shield::Order { first, then, .. } => vec![first, then],
            Shield::Patient { at } => vec![at],
            Shield::Outlived | Shield::Usual => Vec::new(),
        }
    }
}
