//! Stretches that exclude each other by a lock that the program has.

use super::{Draft, DraftError};
use crate::locks::{Lock, hold, retesting};
use crate::spots::Stretch;

impl Draft<'_> {
    /// Each stretch holds its lock throughout; where `retests`, its waits stand in loops.
    pub(super) fn existing_lock(
        &mut self,
        stretches: &[Stretch],
        locks: &[Lock],
        retests: bool,
    ) -> Result<(), DraftError> {
        for (stretch, lock) in stretches.iter().zip(locks) {
            let source = self.source(&stretch.file)?;
            let patch = self.patch(&stretch.file)?;
            hold(patch, source, &stretch.region, lock)?;
            for keyword in retesting(source, &stretch.region, lock).into_iter().filter(|_| retests)
            {
                patch.replace(keyword, "while");
            }
        }
        Ok(())
    }
}
