//! The constants of one function.
//!
//! How many there are is known only after lowering, and they lie behind all other slots; until then a
//! constant's register is marked by its top bit ([`CONSTANT`]), and [`super::patch`] moves it.

use rustc_hash::FxHashMap;
use unravel_code::Reg;

use super::constants::PendingRelocation;
use crate::ir::Value;

/// Marks a register as an index into the pool.
pub(super) const CONSTANT: Reg = 1 << 31;

#[derive(Default)]
pub(super) struct ConstantPool<'m> {
    pub(super) words: Vec<u64>,
    by_content: FxHashMap<Vec<u64>, Reg>,
    pub(super) by_value: FxHashMap<Value<'m>, Reg>,
    /// Word index, symbol and addend.
    pub(super) relocations: Vec<(u32, u32, i64)>,
}

impl ConstantPool<'_> {
    /// The register of a constant of these words.
    pub(super) fn words(&mut self, words: &[u64]) -> Reg {
        if let Some(register) = self.by_content.get(words) {
            return *register;
        }
        let register = self.append(words);
        self.by_content.insert(words.to_vec(), register);
        register
    }

    /// The register of a constant that waits for addresses, which no other constant may share.
    pub(super) fn relocated(&mut self, words: &[u64], waiting: &[PendingRelocation]) -> Reg {
        let register = self.append(words);
        let first = register & !CONSTANT;
        for relocation in waiting {
            let word = first + relocation.at as u32 / 8;
            self.relocations.push((word, relocation.external, relocation.addend));
        }
        register
    }

    fn append(&mut self, words: &[u64]) -> Reg {
        let register = CONSTANT | self.words.len() as Reg;
        self.words.extend_from_slice(words);
        register
    }
}
