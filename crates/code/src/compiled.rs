//! What compiled code and whoever runs it agree on. Who compiles is the room `compile`; who runs it, `vm`.
//!
//! Compiled code is a *shortcut through* interpreting, never a second meaning of a program. It executes plain instructions
//! on the frames that an interpreter would have: the same slots, the same frame memory, the same list of frames. Every slot that
//! an instruction writes is written to the frame at once, but for temporaries, which are written when they will be read by
//! somebody else: whenever it leaves, everything is as interpreting would have left it but for what nobody will look at
//! ([`crate::temporaries`]; who compares states leaves that out). It
//! therefore may *leave* before any instruction, and does before everything that is not plain: an access that is an event or
//! that the checks do not pass, a call of a library function, a division by zero, a number that is none. Whoever runs it executes
//! that instruction and comes back by an *entry*.
//!
//! Nor is there anything on the native stack that is needed then: compiled functions call each other natively, but who leaves
//! takes all of them along, and the frames say where each was. So recursion is as deep as it would be, and nothing is ever
//! suspended, unwound or jumped over in compiled code.

use crate::code::{FunctionId, Inst, Reg};
use crate::model::Program;

/// A position in a function of the program.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Cursor {
    pub pc: *const Inst,
    /// First slot of the frame.
    pub fp: *mut u64,
    /// First byte of the frame's memory.
    pub base: u64,
}

impl Cursor {
    pub const NOWHERE: Cursor = Cursor { pc: std::ptr::null(), fp: std::ptr::null_mut(), base: 0 };
}

/// A call: the function it runs, and the caller's state to return to.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Frame {
    pub function: FunctionId,
    /// Where the caller wants the result.
    pub dst: Reg,
    pub caller: Cursor,
    /// The caller's end of stack memory, restored on return.
    pub caller_top: u64,
    /// Address of the variadic arguments.
    pub varargs: u64,
    /// Compiled code of the caller, if that has called, and the number of the entry behind the call.
    pub resume: *const u8,
    pub resume_at: u32,
    /// Called from Rust, not from the program: return there.
    pub entry: bool,
    /// Runs without being interrupted (`__VERIFIER_atomic_*`).
    pub atomic: bool,
}

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
    pub top: *mut u64,
    /// The highest that this was since compiled code was entered.
    pub high: u64,
    /// Where the running thread's next frame goes, and where there is no more room for frames.
    pub next_frame: *mut Frame,
    pub frames_end: *mut Frame,
    /// How far calls may use slots and stack.
    pub slots_end: u64,
    pub stack_end: u64,
    /// And how far the native stack, which grows downwards.
    pub native_end: u64,
    /// What fresh frame memory holds, eight bytes of it.
    pub pattern: u64,
    /// By function: its code, or null.
    pub codes: *const *const u8,
    /// Where to go on after it has left, in the function of the last frame: the instruction that was not executed.
    pub left_at: u64,
    pub fp: *mut u64,
    pub base: u64,
    /// Instructions executed.
    pub steps: u64,
    /// How many backward jumps (the low half) and calls (the high half) may still be executed.
    pub allowance: u64,
    /// Not 0: a load looked at memory at a site whose only flag is [`WATCHED`].
    pub looked: u64,
}

/// The flag of sites where loads need not ask anybody.
pub const WATCHED: u8 = 8;

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
    /// Copies memory: to, from, bytes, site.
    pub copy: unsafe extern "C" fn(*mut Context, u64, u64, u64, u64) -> u64,
    /// Fills memory: to, byte, bytes, site.
    pub fill: unsafe extern "C" fn(*mut Context, u64, u64, u64, u64) -> u64,
}

/// Runs compiled code until it leaves: context, first slot of the frame, first byte of its memory, number of the entry, code.
pub type Entrance = unsafe extern "C" fn(*mut Context, *mut u64, u64, u64, *const u8);

/// A compiled function.
#[derive(Debug)]
pub struct Compiled {
    pub code: *const u8,
    /// By instruction: the number of the entry before it, or [`NO_ENTRY`].
    pub entries: Box<[u32]>,
}

pub const NO_ENTRY: u32 = u32::MAX;

/// Makes code of functions. The code lives as long as the compiler.
pub trait Compiler {
    fn entrance(&self) -> Entrance;

    /// `None`: this function stays interpreted. The code refers to the program, which must stay where it is.
    fn compile(&mut self, program: &Program, function: FunctionId) -> Option<Compiled>;
}
