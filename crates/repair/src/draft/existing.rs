//! Stretches that exclude each other by a lock that the program has.

use super::{Draft, DraftError};
use crate::locks::{Lock, hold};
use crate::spots::Stretch;

impl Draft<'_> {
    /// Each stretch holds its lock throughout.
    pub(super) fn existing_lock(
        &mut self,
        stretches: &[Stretch],
        locks: &[Lock],
    ) -> Result<(), DraftError> {
        for (stretch, lock) in stretches.iter().zip(locks) {
            let source = self.source(&stretch.file)?;
            hold(self.patch(&stretch.file)?, source, &stretch.region, lock)?;
        }
        Ok(())
    }
}
