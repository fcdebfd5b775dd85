//! States of threads: a hash of all that decides what a thread does next, but for what others write.
//!
//! That is where the thread is, its stack, and what its registers hold, but for those that it will write before it looks at them.
//! Temporaries whose time is not now are always left out ([`unravel_code::temporaries`]): compiled code does not write them.

use std::hash::{Hash, Hasher};

use rustc_hash::{FxHashMap, FxHasher};
use unravel_code::{FunctionId, Inst, Moment, Program, Reg, dead_slots, temporaries};

use crate::machine::{Machine, State};
use crate::thread::Thread;

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

    /// Of frames that are under the same frame as when this was last asked it is known what they hold: a thread is asked at
    /// each of its events, and changes its innermost frame.
    fn hash_state(&mut self, index: usize, only_living: bool) -> u64 {
        let mut hasher = FxHasher::default();
        self.hash_place(index, &mut hasher);
        let State { threads, program, living, .. } = &mut **self;
        let Thread { frames, below, at, .. } = &mut threads[index];
        let this_way = if only_living { LIVING } else { ALL };
        let known = frames.iter().rposition(|frame| frame.known == this_way);
        let first = known.unwrap_or(0);
        let mut words = known.map_or(Words::default(), |known| below[known]);
        below.resize(frames.len(), Words::default());
        for number in first..frames.len() {
            let innermost = if only_living { LeftOut::Before } else { LeftOut::Temporaries };
            let (at, left_out) = match frames.get_mut(number + 1) {
                None => (*at, innermost),
                Some(above) => (
                    above.caller,
                    // Who called from Rust code goes on in ways that are not known.
                    match only_living && !above.entry {
                        true => LeftOut::Returning(above.dst),
                        false => LeftOut::Temporaries,
                    },
                ),
            };
            let function = frames[number].function;
            words.add_two(at.pc as u64, u64::from(function.0));
            let slots = living.of(program, function, at.pc, left_out);
            // SAFETY: the frame's own registers, which nobody writes while the thread is stopped.
            words.add(slots, |slot| unsafe { *at.fp.add(slot as usize) });
            if let Some(above) = frames.get_mut(number + 1) {
                above.known = this_way;
                below[number + 1] = words;
            }
        }
        words.sum.hash(&mut hasher);
        hasher.finish()
    }

    /// Hashes what a thread is about to do, and its stack.
    fn hash_place(&self, index: usize, hasher: &mut FxHasher) {
        let thread = &self.threads[index];
        (thread.pending.op as u8, thread.pending.address, thread.pending.bytes).hash(hasher);
        let bytes = self.memory.stack_top[thread.slot] - thread.locals;
        // SAFETY: the thread's own stack, which nobody writes while it is stopped.
        let stack =
            unsafe { std::slice::from_raw_parts(thread.locals as *const u8, bytes as usize) };
        stack.hash(hasher);
    }
}

/// Ways of looking at frames, as [`Frame::known`] says them.
const ALL: u8 = 1;
const LIVING: u8 = 2;

/// A hash of words: a sum of products of two, each with a key of its place. No product waits for the one before it, and frames
/// may have hundreds of slots.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Words {
    sum: u64,
    key: u64,
}

impl Words {
    #[inline]
    fn add(&mut self, slots: &[Reg], word: impl Fn(Reg) -> u64) {
        let mut pairs = slots.chunks_exact(2);
        for pair in &mut pairs {
            self.add_two(word(pair[0]), word(pair[1]));
        }
        if let [last] = *pairs.remainder() {
            self.add_two(word(last), 0);
        }
    }

    #[inline]
    fn add_two(&mut self, one: u64, other: u64) {
        self.key = self.key.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let product = u128::from(one ^ self.key) * u128::from(other ^ self.key.rotate_left(32));
        self.sum = self.sum.wrapping_add(product as u64 ^ (product >> 64) as u64);
    }
}

/// The slots of frames that are not left out.
#[derive(Debug)]
pub(crate) struct Living {
    /// By where a frame is: an index into `lists`.
    known: FxHashMap<(usize, LeftOut), u32>,
    lists: Vec<Box<[Reg]>>,
    /// Those last asked for: a thread is asked again and again where it is.
    recent: [(usize, LeftOut, u32); RECENT],
}

/// A power of two.
const RECENT: usize = 64;

impl Default for Living {
    fn default() -> Living {
        Living {
            known: FxHashMap::default(),
            lists: Vec::new(),
            recent: [(0, LeftOut::Temporaries, 0); RECENT],
        }
    }
}

impl Living {
    /// The slots of a frame, in order.
    #[inline]
    fn of(
        &mut self,
        program: &Program,
        function: FunctionId,
        pc: *const Inst,
        left_out: LeftOut,
    ) -> &[Reg] {
        let at = pc as usize;
        let place = at / size_of::<Inst>() % RECENT;
        if (self.recent[place].0, self.recent[place].1) != (at, left_out) {
            let next = self.lists.len() as u32;
            let list = *self.known.entry((at, left_out)).or_insert(next);
            if list == next {
                self.lists.push(living(program, function, pc, left_out));
            }
            self.recent[place] = (at, left_out, list);
        }
        &self.lists[self.recent[place].2 as usize]
    }
}

fn living(
    program: &Program,
    function: FunctionId,
    pc: *const Inst,
    left_out: LeftOut,
) -> Box<[Reg]> {
    let body = program.function(function).body.as_ref().expect("only bodies have frames");
    // SAFETY: a frame's position is in its function's code.
    let at = unsafe { pc.offset_from(body.code.as_ptr()) } as u32;
    let mut dead: Vec<Reg> = match left_out {
        LeftOut::Temporaries => Vec::new(),
        LeftOut::Before => dead_slots(program, body, Moment::Before(at)),
        LeftOut::Returning(dst) => {
            dead_slots(program, body, Moment::Returning { call: at - 1, dst })
        }
    };
    let temporaries = temporaries(program, body).into_iter();
    dead.extend(temporaries.filter(|one| !one.is_alive(at)).map(|one| one.slot));
    dead.sort_unstable();
    (0..body.slots).filter(|slot| dead.binary_search(slot).is_err()).collect()
}
