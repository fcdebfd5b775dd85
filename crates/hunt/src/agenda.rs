//! What to flip next.
//!
//! Cortex flips one branch at a time, nearest to the assertion first, then two. So does this, with two things before the
//! distance: what no execution has tried yet goes before the same flip among other traces of the other threads, and a side
//! that is nearer to a failure in the source goes before one that is not. An execution that a flip led to is on the agenda
//! itself, with one flip more.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::rc::Rc;

use rustc_hash::FxHashSet;
use unravel_trace::{Combined, ThreadName};

use crate::flips::{Flippable, What};
use crate::parts::Combination;
use crate::values::Values;

/// An execution whose branches are flipped.
#[derive(Debug)]
pub struct Base {
    pub combination: Combination,
    pub combined: Combined,
    pub values: Values,
}

/// A thread that begins like this and then goes another way.
pub type Start = (ThreadName, Vec<u32>, What);

/// One flip to do.
#[derive(Clone, Debug)]
pub struct Item {
    pub base: Rc<Base>,
    pub candidate: Flippable,
    pub start: Start,
    /// Known traces that begin so have been asked about: what is left is to ask for an order.
    pub known: bool,
    /// The base was executed, not only put together.
    pub executed: bool,
}

/// What comes first: smaller is sooner.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Order {
    /// The base was only put together, not executed.
    unseen: bool,
    /// The same start was tried among other threads' traces.
    repeated: bool,
    /// Values and answers come after branches.
    kind: usize,
    away: bool,
    flips: i32,
    rank: u32,
    /// In the order they came.
    number: usize,
}

/// Flips to do, soonest first.
#[derive(Debug, Default)]
pub struct Agenda {
    heap: BinaryHeap<Reverse<(Order, usize)>>,
    items: Vec<Item>,
    begun: FxHashSet<Start>,
}

impl Agenda {
    pub fn add(&mut self, item: Item) {
        let index = self.items.len();
        let order = self.order(&item, index);
        self.items.push(item);
        self.heap.push(Reverse((order, index)));
    }

    fn order(&self, item: &Item, number: usize) -> Order {
        Order {
            unseen: !item.executed,
            repeated: item.known || self.begun.contains(&item.start),
            kind: item.candidate.what.kind(),
            away: !item.candidate.nears,
            // What has come nearer is followed first; else the fewest flips come first.
            flips: match (item.base.combination.turned.len() as i32, item.candidate.nears) {
                (flips, true) => -flips,
                (flips, false) => flips,
            },
            rank: item.candidate.rank,
            number,
        }
    }

    /// The next flip. One whose start was begun meanwhile goes back behind those that were not.
    pub fn next(&mut self) -> Option<Item> {
        loop {
            let Reverse((order, index)) = self.heap.pop()?;
            let item = &self.items[index];
            if !order.repeated && self.begun.contains(&item.start) {
                let order = Order { repeated: true, ..order };
                self.heap.push(Reverse((order, index)));
                continue;
            }
            self.begun.insert(item.start.clone());
            return Some(item.clone());
        }
    }

    pub fn len(&self) -> usize {
        self.heap.len()
    }
}
