//! What systematic searches do, and what is counted of runs.

use std::hash::{Hash, Hasher};

use serde::{Deserialize, Serialize};

use crate::{LeftOut, SiteId};

/// How a systematic search goes through schedules.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Method {
    /// Every class of schedules once, by partial-order reduction.
    Exhaustive,
    /// Schedules with 0, 1, 2, … preemptions.
    Bounded,
}

/// A read, and the write it took its value from.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub struct ReadsFrom {
    /// `None`: what was there at first.
    pub write: Option<SiteId>,
    pub read: SiteId,
    /// By the same thread.
    pub own: bool,
}

/// In one word, not field by field: a search asks for every read whether it is new.
impl Hash for ReadsFrom {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let write = self.write.map_or(0, |site| u64::from(site.0) + 1);
        state.write_u64(write << 32 ^ u64::from(self.read.0) << 1 ^ u64::from(self.own));
    }
}

/// How far a systematic search came.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Reached {
    pub method: Method,
    /// Runs executed, those that turned out redundant included.
    pub schedules: u64,
    /// Different classes of schedules (of bounded search: different schedules) among them.
    pub classes: u64,
    /// It came to its end, whatever it left out.
    pub is_over: bool,
    /// Runs had so many deviations at most, and those that were executed did.
    pub deviations: u32,
    pub deviated: u32,
    /// In some run the environment could have deviated more often than it did.
    pub could_deviate: bool,
    /// Some run was given up at its bound of steps.
    pub is_cut_short: bool,
    /// Of bounded search: all schedules with so many preemptions were tried.
    pub bound: Option<u32>,
    /// What was left out although the search went to its end.
    pub left_out: Vec<LeftOut>,
}

impl Reached {
    /// Whether everything there is was explored (of bounded search: up to a bound that the user gave): it came to its end, and
    /// nothing was left out. Every claim about all schedules is made from this.
    pub fn is_complete(&self) -> bool {
        self.is_over && self.left_out.is_empty()
    }

    /// Whether runs with more deviations than the bound allows are all the same as runs within it.
    pub fn is_for_all_deviations(&self) -> bool {
        !self.could_deviate || self.deviated < self.deviations
    }

    /// Two parts of one search taken together.
    pub fn with(mut self, other: Reached) -> Reached {
        self.schedules += other.schedules;
        self.classes += other.classes;
        self.is_over &= other.is_over;
        self.deviated = self.deviated.max(other.deviated);
        self.could_deviate |= other.could_deviate;
        self.is_cut_short |= other.is_cut_short;
        self.bound = self.bound.min(other.bound);
        for reason in other.left_out {
            if !self.left_out.contains(&reason) {
                self.left_out.push(reason);
            }
        }
        self
    }
}
