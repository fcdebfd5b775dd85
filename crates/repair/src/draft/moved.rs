//! A statement taken away here and put there.

use super::{Draft, DraftError};
use crate::moved::{Move, Side};

impl Draft<'_> {
    pub(super) fn moved(&mut self, Move { what, side, of, .. }: &Move) -> Result<(), DraftError> {
        let patch = self.patch(&what.file)?;
        let statement = what.region.bytes.clone();
        match side {
            Side::Before => patch.move_before(statement, &of.region)?,
            Side::After => patch.move_after(statement, &of.region)?,
        }
        Ok(())
    }
}
