//! What native functions get: pointers into the program's memory. Their accesses cannot be checked one by
//! one, so that the memory is looked at before the call (was it freed?) and afterwards (was something written
//! behind its end?).
//!
//! Misses reads out of bounds, writes of zeros behind the end, writes far from it, and memory that is reached
//! through other memory. Accuses nobody wrongly: what lies behind an object belongs to no one.

use unravel_code::layout::{HEAPS, RED_ZONE};
use unravel_code::{Abi, Arg, CallSite};
use unravel_trace::FailureKind;

use crate::machine::Machine;
use crate::memory::{Fault, in_arena};

/// The pointers among arguments that point into the arena.
fn pointers(args: &[Arg], fp: *const u64) -> impl Iterator<Item = u64> {
    args.iter()
        .filter(|arg| arg.abi == Abi::Pointer)
        // SAFETY: the argument's slot is in the caller's frame.
        .map(move |arg| unsafe { *fp.add(arg.reg as usize) })
        .filter(|address| in_arena(*address))
}

impl Machine {
    /// Fails if a pointer that is handed over points to freed memory.
    pub fn check_before_native(&mut self, call: &CallSite, fp: *const u64) {
        let (fixed, more) = call.args.split_at(call.args.len().min(call.fixed as usize));
        if let Some(address) = self.freed(fixed, fp) {
            self.fail_access(address, 1, false, Fault::Freed);
        }
        if let Some(address) = self.freed(more, fp) {
            // A pointer that is only printed may be one to freed memory.
            let format = pointers(fixed, fp).last().map(|format| self.c_string(format));
            if !format.is_some_and(|format| prints_pointers(&format)) {
                self.fail_access(address, 1, false, Fault::Freed);
            }
        }
    }

    fn freed(&self, args: &[Arg], fp: *const u64) -> Option<u64> {
        let mut heap = pointers(args, fp).filter(|address| *address >= HEAPS);
        heap.find(|address| self.memory.check(*address, 1) == Err(Fault::Freed))
    }

    /// Fails if something was written behind the end of an object that was handed over.
    pub fn check_after_native(&mut self, call: &CallSite, fp: *const u64) {
        for address in pointers(&call.args, fp) {
            if let Some(end) = self.end_of_object(address)
                // SAFETY: the red zone behind an object is in the arena.
                && unsafe { (end as *const [u8; RED_ZONE as usize]).read_unaligned() } != [0; RED_ZONE as usize]
            {
                let message =
                    format!("write out of bounds by native code: {}", self.describe(address));
                let related = self.object_history(address);
                self.fail_with(FailureKind::OutOfBounds, message, related);
            }
        }
    }

    /// The end of the living heap object or variable that contains an address.
    fn end_of_object(&self, address: u64) -> Option<u64> {
        if address < HEAPS {
            return self.program.global_at(address).map(|global| global.address + global.bytes);
        }
        let (_, _, object) = self.memory.heap_object(address)?;
        let end = object.address + object.bytes;
        (object.freed.is_none() && address < end).then_some(end)
    }
}

/// Whether a format has a `%p`.
fn prints_pointers(format: &str) -> bool {
    let conversion = |text: &str| text.chars().find(|c| !"0123456789-+ #.*'$hlLqjzt".contains(*c));
    format.split('%').skip(1).any(|text| conversion(text) == Some('p'))
}

#[cfg(test)]
mod tests {
    use super::prints_pointers;

    #[test]
    fn formats_with_pointers_are_recognised() {
        assert!(prints_pointers("at %p"));
        assert!(prints_pointers("%d %-16p\n"));
        assert!(!prints_pointers("%s pop %d%%"));
    }
}
