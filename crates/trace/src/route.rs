//! The way of each thread through the *original* code, as a recorded run left it: for every terminator with several
//! successors which of them was taken, in terms of functions and blocks of the module that ran.
//!
//! Unlike [`crate::Paths`], which an engine makes of its own runs, a route comes from outside. An engine that has lowered the
//! same module can let its threads go under any scheduler and say where one leaves its route
//! ([`crate::Guide::follow`]).

use std::sync::Arc;

use crate::{Place, Run, ThreadName};

/// The routes of all threads.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Route {
    /// Functions whose branches were recorded, by name. Branches of others are nobody's business.
    pub functions: Vec<String>,
    pub legs: Vec<Leg>,
}

/// The route of one thread.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Leg {
    pub thread: ThreadName,
    pub turns: Vec<Turn>,
    pub then: Beyond,
}

/// A branch that was taken.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Turn {
    /// Index into [`Route::functions`].
    pub function: u32,
    /// The block's position in its function.
    pub block: u32,
    /// The successor's position in the terminator; of several that are the same block, the least.
    pub successor: u32,
}

/// What a thread does at a branch after its last turn.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Beyond {
    /// It never got there: it stays.
    Stays,
    /// The end of its route was lost: it goes on unwatched.
    Unknown,
    /// It ended, or failed, before: to get there is to stray.
    Ended,
}

/// Where a run left its route.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Strayed {
    pub thread: ThreadName,
    /// How many turns it had taken as recorded.
    pub turn: u64,
    /// The branch that it came to, if known.
    pub at: Option<Place>,
    pub how: Stray,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Stray {
    /// It came to the recorded branch, and went another way.
    OtherWay,
    /// It came to another branch than the recorded one, which is here.
    Elsewhere { recorded: Option<Place> },
    /// It came to a branch although its route has ended.
    Beyond,
    /// The route names a branch that the program does not have.
    NoSuchBranch,
}

/// A run that was to keep to a route.
#[derive(Debug)]
pub struct Followed {
    /// Inconclusive if a thread strayed.
    pub run: Run,
    pub strayed: Option<Strayed>,
    /// By thread of the run: how many turns it took as recorded.
    pub kept: Vec<u64>,
    /// By thread of the run: whether it has none left.
    pub at_end: Vec<bool>,
    /// By thread of the run: after how many events of the run it had taken its last turn.
    pub used_up: Vec<Option<u64>>,
    /// Rounds of busy waits that the recorded run made and this one did not need.
    pub rounds_left_out: u64,
    /// If there was no route to keep to: the one that the run took.
    pub taken: Option<Arc<Route>>,
}

impl Route {
    pub fn turns(&self) -> usize {
        self.legs.iter().map(|leg| leg.turns.len()).sum()
    }

    pub fn leg(&self, thread: &ThreadName) -> Option<&Leg> {
        self.legs.iter().find(|leg| leg.thread == *thread)
    }
}

impl std::fmt::Display for Strayed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Strayed { thread, turn, .. } = self;
        let place = |place: &Option<Place>| {
            place.as_ref().map_or_else(|| "an unknown line".to_owned(), Place::short)
        };
        let (number, at) = (turn + 1, place(&self.at));
        match &self.how {
            Stray::OtherWay => {
                write!(f, "{thread} leaves its recorded path at branch {number}, {at}")
            }
            Stray::Elsewhere { recorded } => {
                let recorded = place(recorded);
                write!(f, "{thread} comes to {at} where its log has branch {number} at {recorded}")
            }
            Stray::Beyond => {
                write!(f, "{thread} goes on at {at}, after the {turn} branches of its log")
            }
            Stray::NoSuchBranch => {
                write!(f, "branch {number} of {thread} is none of the kept module")
            }
        }
    }
}
