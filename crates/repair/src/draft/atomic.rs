//! Updates that become one atomic operation of the compiler's, which C and C++ share.

use super::{Draft, DraftError};
use crate::measures::AtomicUpdate;
use crate::source::Operation;

impl Draft<'_> {
    pub(super) fn atomic(&mut self, updates: &[AtomicUpdate]) -> Result<(), DraftError> {
        for AtomicUpdate { stretch, update } in updates {
            let function = match update.operation {
                Operation::Add => "__atomic_fetch_add",
                Operation::Subtract => "__atomic_fetch_sub",
                Operation::And => "__atomic_fetch_and",
                Operation::Or => "__atomic_fetch_or",
                Operation::Xor => "__atomic_fetch_xor",
            };
            let (target, operand) = (&update.target, &update.operand);
            let text = format!("{function}(&{target}, {operand}, __ATOMIC_SEQ_CST);");
            self.patch(&stretch.file)?.replace(update.statement.clone(), &text);
        }
        Ok(())
    }
}
