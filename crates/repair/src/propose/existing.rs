//! Critical sections of locks that the program has: wider ones, and new ones.

use super::Candidate;
use crate::locks::choices;
use crate::measures::{LockChoice, Measure};
use crate::spots::{Files, Stretch};

/// What one changed line costs; a new lock costs as much as seven of them besides its statements.
const LINE: u64 = 3;

/// The locks that could keep these stretches apart.
pub fn existing_locks(
    covers: &[usize],
    stretches: &[Stretch],
    width: usize,
    files: &Files,
) -> Vec<Candidate> {
    let statements: usize = stretches.iter().map(|stretch| stretch.region.statements).sum();
    let tried = choices(stretches, files).into_iter().map(|choice| {
        let cost = LINE * choice.lines as u64 + 2 * statements as u64 + 15 * width as u64;
        let lock = LockChoice::Existing { locks: choice.locks, widens: choice.widens };
        let measure = Measure::Exclude { stretches: stretches.to_vec(), lock };
        Candidate { measure, covers: covers.to_vec(), cost }
    });
    tried.collect()
}
