//! Where schedules are tried: in execution, or in the model of a trace that cannot be executed.

use std::hash::BuildHasher;

use rustc_hash::FxBuildHasher;
use serde::{Deserialize, Serialize};
use unravel_results::Observed;
use unravel_trace::{BugId, Detail, Key, Keys, Note, Outcome, Rng, Run, Schedule};

use crate::points::{Extents, Point};
use crate::relevance::Relevance;

/// `first` is executed before `second`.
pub type Order = (Key, Key);

/// How to decide where no order decides.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Mode {
    /// As the failing run did; a thread that has done all that it did there goes on where it left it.
    Follow,
    /// As the failing run did; a thread that has done all that it did there goes on once the others have, too.
    Patient,
    /// At random, staying with a thread for `stay` of 100 points.
    Random { seed: u64, stay: u32 },
    /// As the failing run did, but for `leave` of so many points at random.
    Wander { seed: u64, leave: u32, of: u32 },
}

impl Mode {
    /// Which of so many options is taken where the mode leaves the failing run or stays with the current thread; `None` where it
    /// follows.
    pub fn leave(self, rng: &mut Rng, options: usize, current: Option<usize>) -> Option<usize> {
        match self {
            Mode::Follow | Mode::Patient => return None,
            Mode::Wander { leave, of, .. } if rng.below(of) >= leave => return None,
            Mode::Wander { .. } => {}
            Mode::Random { stay, .. } => {
                if current.is_some() && rng.below(100) < stay {
                    return current;
                }
            }
        }
        Some(rng.below(options as u32) as usize)
    }

    pub fn rng(self) -> Rng {
        match self {
            Mode::Follow | Mode::Patient => Rng::new(0),
            Mode::Random { seed, .. } | Mode::Wander { seed, .. } => Rng::new(seed),
        }
    }
}

/// How a tried schedule ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ending {
    Passed,
    /// The bug at hand.
    Failed,
    /// Another failure, known by a hash of its kind and place.
    FailedOtherwise(u64),
    /// It left what is known (the model's path), was discarded, or could not be followed.
    Unknown,
}

/// One schedule that was tried.
#[derive(Clone, Debug)]
pub struct Tried {
    pub points: Vec<Point>,
    pub ending: Ending,
    /// What to replay to see it again.
    pub schedule: Schedule,
}

/// A place to try schedules in.
pub trait World {
    fn keys(&self) -> &Keys;

    /// The failing run; a modelled one goes on after its failure.
    fn failing(&self) -> &[Point];

    /// How many of its points come up to the failure.
    fn end(&self) -> usize {
        self.failing().len()
    }

    /// What the failure is known to depend on.
    fn relevance(&self) -> &Relevance;

    /// Sizes of heap objects.
    fn extents(&self) -> &Extents;

    /// Runs with these orders kept as far as possible.
    fn steer(&mut self, orders: &[Order], mode: Mode) -> Tried;

    /// Runs a schedule that was found elsewhere.
    fn replay(&mut self, schedule: &Schedule) -> Tried;

    /// A tried schedule again, with its events in this detail. `None` if it does not come out the same.
    fn observe(&mut self, tried: &Tried, detail: Detail) -> Option<Observed>;

    /// Whether there is time for more.
    fn may_go_on(&self) -> bool;
}

/// What an outcome means for a diagnosis of `bug`.
pub fn ending(outcome: &Outcome, bug: &BugId) -> Ending {
    match outcome {
        Outcome::Exited { .. } => Ending::Passed,
        Outcome::Failed(failure) if failure.id() == *bug => Ending::Failed,
        Outcome::Failed(failure) => Ending::FailedOtherwise(FxBuildHasher.hash_one(failure.id())),
        Outcome::Discarded | Outcome::Inconclusive { .. } => Ending::Unknown,
    }
}

/// What a run means for a diagnosis of `bug`. One that gave up has passed nothing: whoever would have failed may not have come so far.
pub fn ending_of(run: &Run, bug: &BugId) -> Ending {
    match ending(&run.outcome, bug) {
        Ending::Passed if run.notes.contains(&Note::GaveUp) => Ending::Unknown,
        ending => ending,
    }
}
