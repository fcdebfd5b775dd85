//! What race-directed search brings together.
//!
//! The pairs that RaceFuzzer (Sen, PLDI 2008) is given by a race detector, with those that Thrille adds. Who finds them is
//! `execute`'s (`races/conflicts.rs`).

use serde::{Deserialize, Serialize};
use unravel_trace::{SiteId, VisibleSet};

/// Pairs of sites that may be worth bringing together.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Conflicts {
    /// Sorted, each once, the smaller site first.
    pairs: Vec<(SiteId, SiteId)>,
}

impl FromIterator<(SiteId, SiteId)> for Conflicts {
    fn from_iter<T: IntoIterator<Item = (SiteId, SiteId)>>(pairs: T) -> Conflicts {
        let mut all = Conflicts { pairs: pairs.into_iter().collect() };
        all.pairs.sort_unstable();
        all.pairs.dedup();
        all
    }
}

impl Conflicts {
    pub fn pairs(&self) -> &[(SiteId, SiteId)] {
        &self.pairs
    }

    /// Every site of a pair.
    pub fn sites(&self) -> VisibleSet {
        let mut sites = VisibleSet::default();
        for (one, other) in &self.pairs {
            sites.insert(*one);
            sites.insert(*other);
        }
        sites
    }

    pub fn merge(&mut self, other: &Conflicts) {
        self.pairs.extend(&other.pairs);
        self.pairs.sort_unstable();
        self.pairs.dedup();
    }
}
