//! Waits that test again, and signals that wake all.

use super::{Draft, DraftError};
use crate::measures::Rewording;

impl Draft<'_> {
    pub(super) fn reword(&mut self, rewordings: &[Rewording]) -> Result<(), DraftError> {
        for Rewording { file, bytes, text } in rewordings {
            self.patch(file)?.replace(bytes.clone(), text);
        }
        Ok(())
    }
}
