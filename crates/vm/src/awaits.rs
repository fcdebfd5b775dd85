//! Busy waits as waits ([`Want::awaits`]): says when a thread is back in a state that it was in.
//!
//! A round of a busy wait that changed nothing and led back to where it began might as well not have been: the others cannot tell,
//! and the thread will do what it would have done (Kokologiannakis, Ren, Vafeiadis: *Dynamic partial order reductions for
//! spinloops*, FMCAD 2021; Jonsson, Lång, Sagonas: *Awaiting for Godot*, FMCAD 2022). What a search makes of it is the search's.
//!
//! A state is where the thread is, its stack, and what its registers hold, but for those that it will write before it looks
//! at them ([`dead_slots`]): what the last round loaded says nothing. A round does not count if the thread changed any memory,
//! looked at a clock, or asked whether the environment deviates. A `sched_yield`, a pause or their like is part of the step before
//! it.

use std::hash::{Hash, Hasher};

use rustc_hash::FxHasher;
use unravel_code::{Moment, dead_slots};
use unravel_trace::*;

use crate::machine::Machine;
use crate::thread::{Frame, Need};

/// When a thread was last in a state.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Arrival {
    /// How many steps it had taken.
    steps: u32,
    /// How often it had looked at a clock, and asked for deviations.
    looks: u32,
    questions: u32,
}

impl Machine {
    /// Whether the thread only lets others go first: part of the step before, if there was one since it did so last. A loop that does
    /// nothing else would never be looked at.
    #[inline]
    pub(crate) fn is_pause(&self, op: Op, need: Need) -> bool {
        self.awaits
            && op == Op::Yield
            && need == Need::Nothing
            && self.alive > 1
            && self.threads[self.current].atomic == 0
            && self.threads[self.current].paused_at != Some(self.threads[self.current].steps)
    }

    /// A thread arrives at a point. True if it was there in the same state, and has changed nothing since.
    pub(crate) fn arrives_again(&mut self, index: usize) -> bool {
        let state = self.live_state(index);
        let thread = &mut self.threads[index];
        let Arrival { steps, looks, questions } =
            Arrival { steps: thread.steps, looks: thread.looks.count, questions: thread.questions };
        let before = thread.arrivals.insert(state, Arrival { steps, looks, questions });
        let same = |before: &Arrival| before.looks == looks && before.questions == questions;
        thread.came_round = before.filter(same).map_or(0, |before| steps - before.steps);
        before.is_some()
    }

    /// A hash of all that decides what a thread does next, but for what others write.
    fn live_state(&mut self, index: usize) -> u64 {
        let mut hasher = FxHasher::default();
        self.hash_place(index, &mut hasher);
        let thread = &self.threads[index];
        let frames = thread.frames.len();
        let mut at = (thread.at.pc, thread.at.fp);
        let mut moment: Option<Option<u32>> = Some(None);
        for number in (0..frames).rev() {
            let Frame { function, caller, dst, entry, .. } = self.threads[index].frames[number];
            let (pc, fp) = at;
            let dead = moment.map(|returns_to| self.dead_of(function, pc, returns_to));
            let body = self.program.function(function).body.as_ref();
            let slots = body.map_or(0, |body| body.slots as usize);
            // SAFETY: the frame's own registers, which nobody writes while the thread is stopped.
            let registers = unsafe { std::slice::from_raw_parts(fp, slots) };
            let mut dead = dead.as_deref().unwrap_or_default().iter().copied().peekable();
            for (slot, value) in (0u32..).zip(registers) {
                if dead.next_if_eq(&slot).is_none() {
                    value.hash(&mut hasher);
                }
            }
            at = (caller.pc, caller.fp);
            // Who called from Rust code goes on in ways that are not known.
            moment = (!entry).then_some(Some(dst));
        }
        hasher.finish()
    }

    /// The dead slots of a frame: at its instruction, or when a call before it returns to this slot.
    fn dead_of(
        &mut self,
        function: unravel_code::FunctionId,
        pc: *const unravel_code::Inst,
        returns_to: Option<u32>,
    ) -> std::sync::Arc<[u32]> {
        let key = (pc as usize, returns_to);
        if let Some(known) = self.dead.get(&key) {
            return known.clone();
        }
        let program = self.program.clone();
        let body = program.function(function).body.as_ref().expect("only bodies have frames");
        // SAFETY: a frame's position is in its function's code.
        let at = unsafe { pc.offset_from(body.code.as_ptr()) } as u32;
        let moment = match returns_to {
            None => Moment::Before(at),
            Some(dst) => Moment::Returning { call: at - 1, dst },
        };
        let dead: std::sync::Arc<[u32]> = dead_slots(&program, body, moment).into();
        self.dead.insert(key, dead.clone());
        dead
    }
}
