//! Heap memory that nobody has written, where the user wants reading it to be a failure (`--uninit`).
//!
//! Byte by byte, from `malloc` to the first write; what a library function is given a pointer to counts as written, and so
//! does what is copied. Of a bit field the first write reads its neighbours, which is no reading: a load whose value
//! goes into a mask at once is let pass. Not followed: variables of functions. They hold the pattern, and that is all.

use rustc_hash::FxHashMap;
use unravel_code::Inst;
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
        if self.limits.uninit.fails
            && in_arena(address)
            && let Some((_, _, object)) = self.memory.heap_object(address)
        {
            self.undefined.remove(object.address, object.bytes.max(1));
        }
    }

    /// Memory is read: fails if nobody has written it.
    pub fn check_defined(&mut self, address: u64, bytes: u64) {
        if !in_arena(address) || !self.undefined.has(address, bytes) {
            return;
        }
        let at = self.threads[self.current].at.pc;
        // SAFETY: the position of the current thread, saved before the access; a load is never the last instruction.
        let is_masked = matches!(unsafe { &*at.add(1) }, Inst::And { .. });
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
        undefined.remove(128, 64);
        assert!(undefined.has(127, 1) && !undefined.has(128, 64) && undefined.has(192, 1));
        undefined.remove(100, 28);
        undefined.remove(192, 108);
        assert!(!undefined.has(0, 1000));
    }
}
