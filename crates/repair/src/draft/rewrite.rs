//! Edits of the text, as they were proposed.

use super::{Draft, DraftError};
use crate::rewrite::{Deed, Edit};

impl Draft<'_> {
    pub(super) fn rewrite(&mut self, edits: &[Edit]) -> Result<(), DraftError> {
        for Edit { file, deed } in edits {
            let patch = self.patch(file)?;
            match deed {
                Deed::Replace { bytes, text } => patch.replace(bytes.clone(), text),
                Deed::Remove { statement } => patch.remove_statement(statement.clone()),
                Deed::Before { region, text } => patch.before(region, text)?,
                Deed::After { region, text } => patch.after(region, text)?,
                Deed::BeforeExits { region, exits, text } => {
                    patch.before_exits(region, exits, text)?;
                }
                Deed::Member { at, text, .. } => patch.replace(*at..*at, text),
                Deed::Include { header } => patch.include(header),
                Deed::Declare { text, used_at } => patch.declare(text, *used_at),
            }
        }
        Ok(())
    }
}
