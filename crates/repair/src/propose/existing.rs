//! Critical sections of locks that the program has: wider ones, and new ones.

use super::Proposal;
use crate::locks::{Choice, choices};
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
) -> Vec<Proposal> {
    let statements: usize = stretches.iter().map(|stretch| stretch.region.statements).sum();
    let mut candidates = Vec::new();
    for Choice { locks, widens, lines } in choices(stretches, files) {
        let cost = LINE * lines as u64 + 2 * statements as u64 + 15 * width as u64;
        let lock = LockChoice::Existing { locks, widens };
        let measure = Measure::Exclude { stretches: stretches.to_vec(), lock };
        candidates.push(Proposal { measure, covers: covers.to_vec(), cost });
    }
    candidates
}
