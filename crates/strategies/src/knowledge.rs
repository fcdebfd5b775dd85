//! What the runs of an epoch know of the program.
//!
//! It comes only from the runs that every shard of a search executes (see [`is_common`]), so that shards that never talk to
//! each other still divide the same work.

use serde::{Deserialize, Serialize};
use unravel_trace::VisibleSet;

use crate::Conflicts;
use crate::portfolio::Shares;
use crate::profile::Profile;

#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Knowledge {
    pub visible: VisibleSet,
    /// The most events of a run that may switch only at visible sites.
    pub longest: u64,
    /// The most events of a run that may switch at every access.
    pub longest_full: u64,
    pub profile: Profile,
    pub conflicts: Conflicts,
    pub shares: Shares,
}

/// What a run expects that knows nothing yet.
const UNKNOWN_LENGTH: u64 = 50;

impl Knowledge {
    /// About how many events a run has.
    pub fn events(&self, full: bool) -> u64 {
        match if full { self.longest_full } else { self.longest } {
            0 => UNKNOWN_LENGTH,
            events => events,
        }
    }
}

/// Runs of the first epoch, which learn from each other.
pub const FIRST: u64 = 2;
/// The runs up to the end of the second epoch learn, all of them.
pub const LEARNING: u64 = 8;
/// Size of the third epoch; each is twice the one before, up to the limit.
pub const EPOCH: u64 = 64;
pub const EPOCH_LIMIT: u64 = 4096;

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
