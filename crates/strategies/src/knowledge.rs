//! What the runs of an epoch know of the program.
//!
//! It comes only from the runs that every shard of a search executes (see [`is_common`]), so that shards that never talk to
//! each other still divide the same work.

use serde::{Deserialize, Serialize};
use unravel_trace::VisibleSet;

use crate::budgets::{EPOCH, LEARNING, UNKNOWN_LENGTH};
use crate::portfolio::Shares;
use crate::profile::Profile;
use crate::{Conflicts, LockOrders, Splits};

#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Knowledge {
    pub visible: VisibleSet,
    /// The most events of a run that may switch only at visible sites.
    pub longest: u64,
    /// The most events of a run that may switch at every access.
    pub longest_full: u64,
    pub profile: Profile,
    pub conflicts: Conflicts,
    pub splits: Splits,
    pub lock_orders: LockOrders,
    /// The most threads of a run.
    pub threads: u64,
    pub shares: Shares,
    /// Steps that runs may take so far; 0: as many as the user lets them.
    pub steps: u64,
    /// A run failed in which the environment did not deviate: others need not.
    pub fails_plainly: bool,
}

impl Knowledge {
    /// About how many events a run has.
    pub fn events(&self, full: bool) -> u64 {
        match if full { self.longest_full } else { self.longest } {
            0 => UNKNOWN_LENGTH,
            events => events,
        }
    }
}

/// Whether a run may switch at every access, shared or not, and so learns: a location that only some interleavings
/// make shared would never be seen to be otherwise.
pub fn is_full(index: u64) -> bool {
    match index {
        0..LEARNING => index == LEARNING - 1,
        LEARNING..256 => index % 8 == 4,
        _ => index % 16 == 4,
    }
}

/// Whether every shard executes this run.
pub fn is_common(index: u64) -> bool {
    index < LEARNING + EPOCH || is_full(index)
}
