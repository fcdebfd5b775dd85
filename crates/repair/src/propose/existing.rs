//! Critical sections of locks that the program has: wider ones, and new ones.

use super::Candidate;
use crate::locks::{Choice, choices, retesting};
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
    let mut candidates = Vec::new();
    for Choice { locks, widens, lines } in choices(stretches, files) {
        let cost = LINE * lines as u64 + 2 * statements as u64 + 15 * width as u64;
        let may_retest = stretches.iter().zip(&locks).any(|(stretch, lock)| {
            let source = files.get(&stretch.file);
            source.is_some_and(|source| !retesting(source, &stretch.region, lock).is_empty())
        });
        // A wait should stand in a loop, since it may end for no reason; but other code may rely on being woken once.
        for retests in [true, false].into_iter().filter(|retests| may_retest || !retests) {
            let lock = LockChoice::Existing { locks: locks.clone(), widens, retests };
            let measure = Measure::Exclude { stretches: stretches.to_vec(), lock };
            candidates.push(Candidate { measure, covers: covers.to_vec(), cost });
        }
    }
    candidates
}
