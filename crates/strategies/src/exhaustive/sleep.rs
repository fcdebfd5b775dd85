//! Sleep sets (Godefroid, 1996): threads whose next step need not be explored, because what follows it was explored before.
//!
//! Once a thread's step was explored from a state, it sleeps in what is explored from there afterwards, until a step
//! that depends on it is executed. What the sleeping step would do is what it did then: it is the same step as long
//! as nothing dependent ran.
//!
//! A run that ends in the middle, with a failure, is the last of its thread but not of the others. The thread whose
//! step failed sleeps as any other, and the others go on without it. So a failure is not tried again with all that
//! the others may have done that has nothing to do with it.

use std::rc::Rc;

use super::footprint::Footprint;

/// A thread that sleeps.
#[derive(Clone, Debug)]
pub(super) struct Sleeper {
    pub thread: u32,
    pub footprint: Rc<Footprint>,
}

impl Sleeper {
    pub fn new(thread: u32, footprint: Footprint) -> Sleeper {
        Sleeper { thread, footprint: Rc::new(footprint) }
    }
}

/// Whether all that follows has been explored: somebody sleeps whose step did not end the run.
pub(super) fn covers_what_follows(sleep: &[Sleeper]) -> bool {
    sleep.iter().any(|sleeper| !sleeper.footprint.ends)
}
