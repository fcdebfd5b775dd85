//! What a run leaves behind: the numbers in the program's own globals, and the objects on its heap.
//!
//! *Not looked at*: what may be the number of a descriptor in a program that makes some, as these are given out by the process; thread-local variables, what is on the heap, and globals without debug information.

use std::hash::Hasher;

use rustc_hash::FxHasher;
use unravel_trace::Finals;

use crate::machine::Machine;

impl Machine {
    /// After the last event of a run.
    pub(crate) fn finals(&self) -> Finals {
        let own = self.program.globals.iter().filter(|global| {
            let is_own = |(file, _): &(String, u32)| !unravel_trace::is_system_file(file);
            !global.constant && global.place.as_ref().is_some_and(is_own)
        });
        let descriptors = self.descriptors.were_made();
        let globals = own.filter_map(|global| {
            let numbers = self.program.types.numbers(global.ty?);
            let mut hasher = FxHasher::default();
            for (offset, bytes) in &numbers {
                if offset + bytes > global.bytes {
                    continue;
                }
                let at = (global.address + offset) as *const u8;
                // SAFETY: inside of a global of the program, which is mapped as long as the machine is; no thread runs.
                let number = unsafe { std::slice::from_raw_parts(at, *bytes as usize) };
                if !(descriptors && may_be_descriptor(number)) {
                    hasher.write(number);
                }
            }
            (!numbers.is_empty()).then(|| (global.name.clone(), hasher.finish()))
        });
        Finals { globals: globals.collect(), heap_objects: self.memory.live_objects() }
    }
}

/// Whether a number could be that of a descriptor.
fn may_be_descriptor(number: &[u8]) -> bool {
    matches!(number.try_into().map(i32::from_ne_bytes), Ok(3..=1024))
}
