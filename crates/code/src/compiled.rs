//! What compiled code and whoever runs it agree on. Who compiles is the room `compile`; who runs it, `vm`.
//!
//! Compiled code is a *shortcut through* interpreting, never a second meaning of a program. It executes plain instructions of
//! one function on the frame that an interpreter made: the same slots, the same frame memory. Every slot that an instruction
//! writes is written to the frame at once, so at any moment the frame is what interpreting would have left. It therefore may
//! *leave* before any instruction, and does before everything that is not plain: an access that is an event or that the checks do
//! not pass, a call, a division by zero, a number that is none. Whoever runs it executes that instruction and comes back
//! by an *entry*. So nothing is ever suspended, unwound or jumped over in compiled code.

use crate::code::{FunctionId, Target};
use crate::model::Program;

/// What compiled code is given, and what it leaves behind. One for a machine.
#[repr(C)]
#[derive(Debug)]
pub struct Context {
    /// The shadow of the arena: a byte for every eight, 8 if all of them are valid.
    pub shadow: *const u8,
    /// What accesses do besides accessing, a byte a site; nothing if it is 0.
    pub flags: *const u8,
    /// Where the running thread's stack begins, and where what is in use of it ends.
    pub stack: u64,
    pub top: u64,
    /// Where to go on after it has left: the instruction that it did not execute.
    pub left_at: u64,
    /// Instructions executed.
    pub steps: u64,
    /// Backward jumps that may still be executed.
    pub jumps: i64,
}

/// What compiled code calls. None of these suspends, fails or ends the run; they answer 1 to say that an interpreter has
/// to execute the access, and then have done nothing.
#[derive(Clone, Copy, Debug)]
pub struct Callbacks {
    /// Whether memory may be accessed which is not plainly valid: address, bytes.
    pub check: unsafe extern "C" fn(*mut Context, u64, u64) -> u64,
    /// Before a load at a site with flags: address, bytes, site.
    pub load: unsafe extern "C" fn(*mut Context, u64, u64, u64) -> u64,
    /// A store at a site with flags, which it executes: address, bytes, site, value.
    pub store: unsafe extern "C" fn(*mut Context, u64, u64, u64, u64) -> u64,
}

/// Compiled code: context, first slot of the frame, first byte of its memory, number of the entry.
pub type Code = unsafe extern "C" fn(*mut Context, *mut u64, u64, u64);

/// A compiled function.
#[derive(Debug)]
pub struct Compiled {
    pub code: Code,
    /// By instruction: the number of the entry before it, or [`NO_ENTRY`].
    pub entries: Box<[u32]>,
}

pub const NO_ENTRY: u32 = u32::MAX;

impl Compiled {
    pub fn entry(&self, at: Target) -> Option<u32> {
        self.entries.get(at as usize).copied().filter(|entry| *entry != NO_ENTRY)
    }
}

/// Makes code of functions. The code lives as long as the compiler.
pub trait Compiler {
    /// `None`: this function stays interpreted.
    fn compile(&mut self, program: &Program, function: FunctionId) -> Option<Compiled>;
}
