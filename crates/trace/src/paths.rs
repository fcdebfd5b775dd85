//! The least that a failing run can be known by: which way each thread went at its branches, and how it ended.
//!
//! After Symbiosis (Machado, Lucia, Rodrigues), whose instrumented program logs a path profile a thread and nothing
//! else; the symbolic traces are rebuilt by symbolic execution guided by these paths, thread by thread.
//!
//! What cannot be told from branches alone (the value behind a pointer, whether a `trylock` succeeded) is guessed.
//! A [`Guess`] replaces one such value in the next attempt.

use serde::{Deserialize, Serialize};

use crate::{Failure, Run, SiteId, ThreadName};

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
    /// In a deadlock, where the thread is blocked.
    pub blocked_at: Option<SiteId>,
}

impl Paths {
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
