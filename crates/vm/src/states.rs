//! States of threads: a hash of all that decides what a thread does next, but for what others write.
//!
//! That is where the thread is, its stack, and what its registers hold, but for those that it will write before it looks at them.
//! Temporaries whose time is not now are always left out ([`unravel_code::temporaries`]): compiled code does not write them.

use std::hash::{Hash, Hasher};
use std::ops::Range;
use std::sync::Arc;

use rustc_hash::FxHasher;
use unravel_code::{FunctionId, Inst, Moment, Reg, dead_slots, temporaries};

use crate::machine::Machine;
use crate::thread::Frame;

/// Which slots of a frame are left out.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum LeftOut {
    /// Temporaries.
    Temporaries,
    /// All that are dead before the instruction.
    Before,
    /// All that are dead when the call before it returns to this slot.
    Returning(Reg),
}

impl Machine {
    /// The state of a thread, dead registers included.
    pub fn state_hash(&mut self, index: usize) -> u64 {
        self.hash_state(index, false)
    }

    /// The same without them.
    pub fn live_state(&mut self, index: usize) -> u64 {
        self.hash_state(index, true)
    }

    fn hash_state(&mut self, index: usize, only_living: bool) -> u64 {
        let mut hasher = FxHasher::default();
        self.hash_place(index, &mut hasher);
        let thread = &self.threads[index];
        let mut at = (thread.at.pc, thread.at.fp);
        let mut left_out = if only_living { LeftOut::Before } else { LeftOut::Temporaries };
        for number in (0..thread.frames.len()).rev() {
            let Frame { function, caller, dst, entry, .. } = self.threads[index].frames[number];
            let (pc, fp) = at;
            let body = self.program.function(function).body.as_ref();
            let slots = body.map_or(0, |body| body.slots as usize);
            let living = self.living_of(function, pc, slots, left_out);
            // SAFETY: the frame's own registers, which nobody writes while the thread is stopped.
            let registers = unsafe { std::slice::from_raw_parts(fp, slots) };
            for range in living.iter() {
                registers[range.clone()].hash(&mut hasher);
            }
            at = (caller.pc, caller.fp);
            // Who called from Rust code goes on in ways that are not known.
            left_out = match only_living && !entry {
                true => LeftOut::Returning(dst),
                false => LeftOut::Temporaries,
            };
        }
        hasher.finish()
    }

    /// Hashes where a thread is, what it is about to do, and its stack.
    pub fn hash_place(&self, index: usize, hasher: &mut FxHasher) {
        let thread = &self.threads[index];
        (thread.at.pc as usize).hash(hasher);
        (thread.pending.op as u8, thread.pending.address, thread.pending.bytes).hash(hasher);
        for frame in &thread.frames {
            (frame.caller.pc as usize, frame.function.0).hash(hasher);
        }
        let bytes = self.memory.stack_top[thread.slot] - thread.locals;
        // SAFETY: the thread's own stack, which nobody writes while it is stopped.
        let stack =
            unsafe { std::slice::from_raw_parts(thread.locals as *const u8, bytes as usize) };
        stack.hash(hasher);
    }

    /// The slots of a frame that are not left out, in order.
    fn living_of(
        &mut self,
        function: FunctionId,
        pc: *const Inst,
        slots: usize,
        left_out: LeftOut,
    ) -> Arc<[Range<usize>]> {
        let key = (pc as usize, left_out);
        if let Some(known) = self.living.get(&key) {
            return known.clone();
        }
        let program = self.program.clone();
        let body = program.function(function).body.as_ref().expect("only bodies have frames");
        // SAFETY: a frame's position is in its function's code.
        let at = unsafe { pc.offset_from(body.code.as_ptr()) } as u32;
        let mut dead: Vec<Reg> = match left_out {
            LeftOut::Temporaries => Vec::new(),
            LeftOut::Before => dead_slots(&program, body, Moment::Before(at)),
            LeftOut::Returning(dst) => {
                dead_slots(&program, body, Moment::Returning { call: at - 1, dst })
            }
        };
        let temporaries = temporaries(&program, body).into_iter();
        dead.extend(temporaries.filter(|one| !one.is_alive(at)).map(|one| one.slot));
        dead.sort_unstable();
        dead.dedup();
        let ends = dead.iter().map(|slot| *slot as usize).chain([slots]);
        let mut from = 0;
        let living = ends.map(|end| std::mem::replace(&mut from, end + 1)..end);
        let living: Arc<[Range<usize>]> = living.filter(|range| !range.is_empty()).collect();
        self.living.insert(key, living.clone());
        living
    }
}
