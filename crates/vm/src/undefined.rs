//! Memory that nobody has written, where the user wants reading it to be a failure (`--uninit`).
//!
//! Byte by byte, from `malloc` or the call of a function to the first write; what a library function is given a pointer to counts as
//! written, and so does what is copied. Of a bit field the first write reads its neighbours, which is no reading: a load whose value
//! is masked and put back at once is let pass. Variables of functions are all in memory then (`Locals::InMemory` of `program`); of them a
//! read fails if nobody has written any of its bytes, because structures are passed with their padding. Not followed: values
//! that never were in memory.

use rustc_hash::FxHashMap;
use unravel_code::Inst;
use unravel_code::layout::{STACK_SIZE, STACKS};
use unravel_trace::FailureKind;

use crate::machine::Machine;
use crate::memory::in_arena;

/// Bytes of a word of the map.
const BYTES: u64 = 64;

/// By word of memory: a bit for each byte that nobody has written.
#[derive(Debug, Default)]
pub(crate) struct Undefined(FxHashMap<u64, u64>);

impl Undefined {
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// The words of a range with the bits of its bytes.
    fn words(address: u64, bytes: u64) -> impl Iterator<Item = (u64, u64)> {
        let end = address.saturating_add(bytes);
        (address / BYTES..end.div_ceil(BYTES)).map(move |word| {
            let first = address.saturating_sub(word * BYTES).min(BYTES);
            let last = (end - word * BYTES).min(BYTES);
            (word, (u64::MAX >> (BYTES - (last - first))) << first)
        })
    }

    fn add(&mut self, address: u64, bytes: u64) {
        for (word, bits) in Undefined::words(address, bytes) {
            *self.0.entry(word).or_default() |= bits;
        }
    }

    fn remove(&mut self, address: u64, bytes: u64) {
        for (word, bits) in Undefined::words(address, bytes) {
            if let Some(all) = self.0.get_mut(&word) {
                *all &= !bits;
            }
        }
    }

    /// Whether none of these bytes was written.
    fn has_all(&self, address: u64, bytes: u64) -> bool {
        Undefined::words(address, bytes)
            .all(|(word, bits)| self.0.get(&word).is_some_and(|all| all & bits == bits))
    }

    fn has(&self, address: u64, bytes: u64) -> bool {
        Undefined::words(address, bytes)
            .any(|(word, bits)| self.0.get(&word).is_some_and(|all| all & bits != 0))
    }
}

impl Machine {
    /// Fresh memory that holds nothing yet.
    pub fn leave_undefined(&mut self, address: u64, bytes: u64) {
        if self.limits.uninit.fails && bytes > 0 {
            self.undefined.add(address, bytes);
        }
    }

    /// Something was written.
    pub fn define(&mut self, address: u64, bytes: u64) {
        if self.limits.uninit.fails && bytes > 0 && in_arena(address) {
            self.undefined.remove(address, bytes);
        }
    }

    /// A library function may write where this points.
    pub fn define_object(&mut self, address: u64) {
        if !self.limits.uninit.fails || !in_arena(address) {
            return;
        }
        if let Some((_, _, object)) = self.memory.heap_object(address) {
            self.undefined.remove(object.address, object.bytes.max(1));
        } else if let Some(end) = self.end_of_stack(address) {
            // Where a variable ends is not known: all that may belong to it.
            self.undefined.remove(address, end - address);
        }
    }

    /// The end of what is in use of the stack that an address is on.
    fn end_of_stack(&self, address: u64) -> Option<u64> {
        let slot = address.checked_sub(STACKS)? / STACK_SIZE;
        let top = *self.memory.stack_top.get(slot as usize)?;
        (address < top).then_some(top)
    }

    /// Memory is read: fails if nobody has written it.
    pub fn check_defined(&mut self, address: u64, bytes: u64) {
        if !in_arena(address) || !self.undefined.has(address, bytes) {
            return;
        }
        if self.end_of_stack(address).is_some() && !self.undefined.has_all(address, bytes) {
            return;
        }
        let at = self.threads[self.current].at.pc;
        // SAFETY: the position of the current thread, saved before the access; neither a load nor a mask is the last instruction.
        let (next, after) = unsafe { (&*at.add(1), &*at.add(2)) };
        let is_put_back = matches!(
            after,
            Inst::Or { .. }
                | Inst::Store8 { .. }
                | Inst::Store16 { .. }
                | Inst::Store32 { .. }
                | Inst::Store64 { .. }
        );
        let is_masked = matches!(next, Inst::And { .. }) && is_put_back;
        if !is_masked {
            let what = self.describe(address);
            self.fail(
                FailureKind::Uninitialised,
                format!("read of {bytes} bytes that nobody has written: {what}"),
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_told_apart() {
        let mut undefined = Undefined::default();
        undefined.add(100, 200);
        assert!(undefined.has(100, 1) && undefined.has(299, 1) && undefined.has(0, 101));
        assert!(!undefined.has(99, 1) && !undefined.has(300, 64));
        assert!(undefined.has_all(100, 200) && !undefined.has_all(99, 2));
        undefined.remove(128, 64);
        assert!(undefined.has(127, 1) && !undefined.has(128, 64) && undefined.has(192, 1));
        undefined.remove(100, 28);
        undefined.remove(192, 108);
        assert!(!undefined.has(0, 1000));
    }
}
