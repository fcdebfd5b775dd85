//! Lanes: dividing the tree among processes that do not talk to each other.
//!
//! In the first levels of the tree that have something to choose, every thread is explored that is not asleep, whether
//! races ask for it or not. All lanes see these levels alike; the subtrees below are numbered in the order in which they
//! are met, and each lane explores every so many-th. Sleep sets keep their classes apart.

use super::tree::Node;

#[derive(Debug)]
pub(super) struct Lanes {
    lane: u32,
    lanes: u32,
    /// How many levels are explored by all.
    levels: u32,
    /// The number of the next subtree.
    next: u32,
}

impl Lanes {
    pub fn new(lane: u32, lanes: u32) -> Lanes {
        let lanes = lanes.max(1);
        // A few subtrees for each lane even out that they differ in size.
        let levels = if lanes == 1 { 0 } else { lanes.next_power_of_two().ilog2() + 2 };
        Lanes { lane, lanes, levels, next: 0 }
    }

    /// Whether a state with something to choose, below `above`, is in the levels that all lanes explore.
    pub fn is_shared(&self, above: Option<&Node>) -> bool {
        above.map_or(0, |node| node.level) < self.levels
    }

    /// Whether what comes after these nodes is the root of a subtree.
    pub fn is_root(&self, nodes: &[Node]) -> bool {
        let mut levels = nodes.iter().rev().map(|node| node.level);
        self.levels > 0
            && levels.next() == Some(self.levels)
            && levels.next().unwrap_or(0) < self.levels
    }

    /// Whether a run that ends after these nodes has not come to a subtree: it counts as one.
    pub fn is_shared_path(&self, nodes: &[Node]) -> bool {
        self.is_shared(nodes.last()) || self.is_root(nodes)
    }

    /// Gives the next subtree its number; whether it is this lane's.
    pub fn takes_next(&mut self) -> bool {
        let number = self.next;
        self.next = (number + 1) % self.lanes;
        number == self.lane
    }
}
