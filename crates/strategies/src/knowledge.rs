//! What the runs of an epoch know of the program.
//!
//! It comes only from the runs that every shard of a search executes (see [`is_common`]), so that shards that never talk to
//! each other still divide the same work.

use serde::{Deserialize, Serialize};
use unravel_trace::VisibleSet;

use crate::budgets::{EPOCH, LEARNING, LONGEST, RAREST, SHARE_OF_RARE, SHORTEST, UNKNOWN_LENGTH};
use crate::portfolio::Shares;
use crate::profile::Profile;
use crate::{Conflicts, Guesses, LockOrders, Splits};

#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Knowledge {
    pub visible: VisibleSet,
    /// The most events of a run that may switch only at visible sites.
    pub longest: u64,
    /// Of the visible sites those that were seen to race or contend with others.
    pub unordered: VisibleSet,
    /// The most events of a run that may switch only at these.
    pub longest_brief: u64,
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
    /// Accesses are judged ([`unravel_trace::Executor::judges_orders`]): none is out of sight that is shared.
    pub judges_orders: bool,
    /// Which values assumptions let pass.
    pub guesses: Guesses,
    /// A run failed in which the environment did not deviate: others need not.
    pub fails_plainly: bool,
}

/// At which accesses to memory a run may switch. At operations on locks and threads it always may.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Sight {
    /// At all of them.
    Everything,
    /// Where threads touch what others touch.
    Shared,
    /// Only where nothing was seen to order what two threads do there.
    Unordered,
}

impl Knowledge {
    /// About how many events a run has.
    pub fn events(&self, sight: Sight) -> u64 {
        let longest = match sight {
            Sight::Everything => self.longest_full,
            Sight::Shared => self.longest,
            Sight::Unordered => self.longest_brief,
        };
        if longest == 0 { UNKNOWN_LENGTH } else { longest }
    }

    /// What most runs may switch at: all that is shared, unless runs are so long that hardly any could be made.
    ///
    /// Programs that hand blocks of memory from thread to thread share millions of accesses that a lock or a join orders.
    /// As long as these do not race, switching there shows nothing that switching at the locks does not show.
    pub fn usual(&self) -> Sight {
        let is_long = self.longest > LONGEST as u64;
        match is_long && !self.unordered.is_empty() && !self.judges_orders {
            true => Sight::Unordered,
            false => Sight::Shared,
        }
    }

    /// The sites that most runs may switch at.
    pub fn usually_visible(&self) -> &VisibleSet {
        if self.usual() == Sight::Unordered { &self.unordered } else { &self.visible }
    }

    /// What a run of this number may switch at. Where most do not see all that is shared, or runs that see everything are so
    /// long that they take most of the time, only some of those that [`is_full`] names see more than the others.
    pub fn sight(&self, index: u64) -> Sight {
        let usual = self.usual();
        if !is_full(index) {
            // What runs teach first the others build on.
            return if index < LEARNING { Sight::Shared } else { usual };
        }
        let number = if index < DENSE { index / 8 } else { DENSE / 8 + (index - DENSE) / 16 };
        let turn = |sight| {
            let rare = self.rarity(sight, usual);
            // Never the same ones as those that see everything.
            number % rare == if sight == Sight::Everything { 0 } else { rare / 2 }
        };
        match () {
            () if index < LEARNING || turn(Sight::Everything) => Sight::Everything,
            () if usual != Sight::Shared && turn(Sight::Shared) => Sight::Shared,
            () => usual,
        }
    }

    /// One in how many of the runs that could does see so much: a power of two, so that its events are not many times those
    /// of all others.
    fn rarity(&self, sight: Sight, usual: Sight) -> u64 {
        let events = self.events(sight);
        if events <= LONGEST as u64 || self.judges_orders {
            return 1;
        }
        let times = events / (self.events(usual).max(SHORTEST) * SHARE_OF_RARE);
        1 << times.max(1).ilog2().min(RAREST.ilog2())
    }
}

/// Up to here every eighth run may see everything, then every sixteenth.
const DENSE: u64 = 256;

/// Whether a run may switch at every access, shared or not, and so learns: a location that only some interleavings
/// make shared would never be seen to be otherwise.
pub fn is_full(index: u64) -> bool {
    match index {
        0..LEARNING => index == LEARNING - 1,
        LEARNING..DENSE => index % 8 == 4,
        _ => index % 16 == 4,
    }
}

/// Whether every shard executes this run.
pub fn is_common(index: u64) -> bool {
    index < LEARNING + EPOCH || is_full(index)
}

#[cfg(test)]
mod tests {
    use super::*;
    use unravel_trace::SiteId;

    fn of(longest: u64, longest_full: u64, longest_brief: u64) -> Knowledge {
        let mut knowledge =
            Knowledge { longest, longest_full, longest_brief, ..Knowledge::default() };
        knowledge.unordered.insert(SiteId(1));
        knowledge
    }

    fn count(knowledge: &Knowledge, sight: Sight) -> usize {
        (LEARNING..LEARNING + 2048).filter(|index| knowledge.sight(*index) == sight).count()
    }

    #[test]
    fn short_runs_see_what_they_always_saw() {
        let knowledge = of(3_000, 40_000, 0);
        for index in 0..5000 {
            let expected = if is_full(index) { Sight::Everything } else { Sight::Shared };
            assert_eq!(knowledge.sight(index), expected, "run {index}");
        }
    }

    #[test]
    fn runs_that_see_everything_are_rarer_where_they_are_long() {
        let knowledge = of(2_300, 160_000, 0);
        let full = (LEARNING..LEARNING + 2048).filter(|index| is_full(*index)).count();
        let everything = count(&knowledge, Sight::Everything);
        assert!(everything * 8 <= full + 8 && everything > 8, "{everything} of {full}");
        assert_eq!(count(&knowledge, Sight::Unordered), 0);
    }

    #[test]
    fn most_long_runs_see_what_is_unordered_and_some_see_more() {
        let knowledge = of(2_000_000, 8_000_000, 60);
        let [everything, shared, unordered] =
            [Sight::Everything, Sight::Shared, Sight::Unordered].map(|s| count(&knowledge, s));
        assert!(
            unordered > 2000 && everything >= 8 && shared >= 8,
            "{everything} {shared} {unordered}"
        );
        assert_eq!(knowledge.usually_visible(), &knowledge.unordered);
        let unknown = Knowledge { unordered: VisibleSet::default(), ..knowledge };
        assert_eq!(count(&unknown, Sight::Unordered), 0, "nothing is known of what is ordered");
        let judged = Knowledge { judges_orders: true, ..of(2_000_000, 8_000_000, 60) };
        assert_eq!(count(&judged, Sight::Unordered), 0, "a race that is not seen is not found");
    }
}
