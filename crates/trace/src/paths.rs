//! The least that a failing run can be known by: which way each thread went at its branches, and how it ended.
//!
//! After Symbiosis (Machado, Lucia, Rodrigues), whose instrumented program logs a path profile a thread and nothing
//! else; the symbolic traces are rebuilt by symbolic execution guided by these paths, thread by thread.
//!
//! What cannot be told from branches alone (the value behind a pointer, whether a `trylock` succeeded) is guessed.
//! A [`Guess`] replaces one such value in the next attempt.
//!
//! After Cortex (thesis §5.2.2.2), runs that nobody has seen are made on the same machinery: a [`Lead`] says how threads
//! begin, and from there they go on by themselves.

use serde::{Deserialize, Serialize};

use crate::{Failure, FailureKind, Run, SiteId, ThreadName};

/// The paths of all threads of a failing run.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Paths {
    pub threads: Vec<ThreadPath>,
    /// What a bug report says: kind, message and stacks.
    pub failure: Failure,
}

/// One thread's branches. Neither their order among threads nor any value is known.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ThreadPath {
    pub name: ThreadName,
    /// Of each conditional branch 1 if it was taken, of each switch the number of its target, in order.
    pub outcomes: Vec<u32>,
    /// Where the thread stands at the end of its run, unless it has ended; of a failing run's paths, in a deadlock only:
    /// where it is blocked.
    pub blocked_at: Option<SiteId>,
}

impl Paths {
    /// Those of a failing run that was executed with [`crate::Detail::Symbolic`].
    pub fn of(run: &Run) -> Option<Paths> {
        let failure = run.outcome.failure().filter(|_| !run.paths.is_empty())?.clone();
        let mut threads = run.paths.clone();
        if failure.kind != FailureKind::Deadlock {
            threads.iter_mut().for_each(|thread| thread.blocked_at = None);
        }
        Some(Paths { threads, failure })
    }

    pub fn branches(&self) -> usize {
        self.threads.iter().map(|thread| thread.outcomes.len()).sum()
    }
}

/// What a guided run takes the nth value to be that a thread read from shared memory, or the nth answer that it
/// got from a library function.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Guess {
    pub thread: ThreadName,
    pub index: u32,
    pub value: u128,
}

/// One attempt at rebuilding a run from its paths.
#[derive(Debug)]
pub struct Guided {
    /// Failed if every thread could be led along its path; its symbolic side then has an unknown order. Otherwise
    /// inconclusive, with the reason.
    pub run: Run,
    /// Other values that might be tried, most promising first; each goes with the guesses of this attempt.
    pub others: Vec<Guess>,
    /// Steps of the symbolic side that no point began: no decision of a schedule counts them.
    pub unscheduled: Vec<u32>,
}

/// What an execution is to be made of: how each thread begins, and whether it then goes on by itself. A thread that is
/// not named goes free from its start.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Lead {
    pub threads: Vec<LedThread>,
}

/// How one thread begins.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct LedThread {
    pub name: ThreadName,
    /// As in [`ThreadPath::outcomes`]: its first branches.
    pub outcomes: Vec<u32>,
    pub then: Then,
}

/// What a thread does after the branches that it is led along.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Then {
    /// Stops at its next branch.
    Stop,
    /// Goes on as its values say, to its end or where it can only fail.
    #[default]
    Free,
}

/// A run along a [`Lead`].
#[derive(Debug)]
pub struct Led {
    /// Its symbolic side has an unknown order and can be taken apart ([`crate::separate`]). Exited with 0 if all threads
    /// were led along what was given; failed, with [`crate::Bug::Reached`], if a thread fails on its path whatever it
    /// reads; inconclusive if a thread could not be led.
    pub run: Run,
    /// By thread: the whole path that it took.
    pub branches: Vec<Vec<u32>>,
    /// By thread: the numbers of the branches it took by itself that depended on what it read, so could have gone
    /// another way.
    pub open: Vec<Vec<u32>>,
    /// Other values that might be tried, as in [`Guided::others`].
    pub others: Vec<Guess>,
    /// As in [`Guided::unscheduled`].
    pub unscheduled: Vec<u32>,
}
