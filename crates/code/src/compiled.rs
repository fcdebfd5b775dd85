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
//! takes all of them along. A frame is not listed while compiled code waits for what it has called: who is told that it has left
//! lists the frame of its call then ([`Context::pending`]), so that the frames say where each was. So recursion is as deep as it
//! would be, and nothing is ever suspended, unwound or jumped over in compiled code.

use unravel_trace::SiteId;

use crate::code::{FunctionId, Inst, Reg};
use crate::layout::ARENA_BASE;
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
    /// If compiled code of the caller has called: the number of its entry behind the call. Else 0.
    pub resume_at: u32,
    /// Called from Rust, not from the program: return there.
    pub entry: bool,
    /// Runs without being interrupted (`__VERIFIER_atomic_*`).
    pub atomic: bool,
    /// What whoever compares states of the thread knows of the frames below, which stay as they are under this one. 0 of a new one.
    pub known: u8,
}

/// What compiled code is given, and what it leaves behind. One for a machine.
#[repr(C)]
#[derive(Debug)]
pub struct Context {
    pub itself: *mut Context,
    /// What accesses do besides accessing, a byte a site; nothing if it is 0.
    pub flags: *const u8,
    /// Where the running thread's stack begins, and where what is in use of it ends. Compiled code writes this when it leaves or
    /// calls back: it knows where its own frame ends.
    pub stack: u64,
    pub top: *mut u64,
    /// How far calls may use the stack: a little further than it was ever used in this run.
    pub stack_end: u64,
    /// Where the running thread's next frame goes.
    pub next_frame: *mut Frame,
    /// Where the next frame goes that was not listed yet, the innermost first.
    pub pending: *mut Frame,
    /// How far calls of functions with many slots may use slots. There is room for all others ([`FEW_SLOTS`]).
    pub slots_end: u64,
    /// And how far calls may use the native stack, which grows downwards.
    pub native_end: u64,
    /// What fresh frame memory holds, eight bytes of it.
    pub pattern: u64,
    /// By function: its code, or what says that there is none.
    pub codes: *const *const u8,
    /// Where to go on after it has left, in the function of the last frame: the instruction that was not executed.
    pub left_at: u64,
    pub fp: *mut u64,
    pub base: u64,
    /// Instructions executed. Who leaves, or is left behind by what it has called, adds its own.
    pub steps: u64,
    /// How many backward jumps (the low half) and calls (the high half) may still be executed.
    pub allowance: u64,
    /// The accesses that teach nothing if they come again, and in which stretch; 0 if none is known.
    pub seen: *const Seen,
    pub stretch: u64,
    /// Not 0: calls clear the slots that nobody writes at once, for those who compare states.
    pub clears: u64,
    /// Not 0: an access at a site that is [`WATCHED`] did not ask.
    pub looked: u64,
    /// Not 0: stores at such sites need not ask, but count here which of them changed memory.
    pub counts: u64,
    pub changed: u64,
}

/// The flag of sites where accesses need not ask anybody, if they say that they were there, and stores also what they changed.
pub const WATCHED: u8 = 8;
/// The flag of sites whose accesses teach, unless they were [`Seen`].
pub const TEACHES: u8 = 2;

/// An access within eight bytes that teaches nothing if it comes again in the same stretch of a run.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Seen {
    /// The number of the eight bytes in the arena, doubled, and 1 for a write.
    pub place: u64,
    /// The site, and the stretch above it.
    pub site: u64,
}

/// How many are remembered: one for each place that [`Seen::place`] says.
pub const SEEN: usize = 4096;
/// How sites are scattered.
pub const SCATTER: u64 = 37;

impl Seen {
    pub fn new(address: u64, write: bool, site: SiteId, stretch: u32) -> Seen {
        let place = (address - ARENA_BASE) >> 3 << 1 | u64::from(write);
        Seen { place, site: u64::from(site.0) | u64::from(stretch) << 32 }
    }

    /// Where one is remembered, as compiled code computes it too.
    pub fn place(address: u64, site: SiteId) -> usize {
        let number = ((address - ARENA_BASE) >> 3).wrapping_add(u64::from(site.0) * SCATTER);
        number as usize % SEEN
    }
}

/// A function with more slots is called only if there is room for them.
pub const FEW_SLOTS: u32 = 128;
/// Native calls of compiled code that can be on the way at once take at least so many bytes of the native stack each: a return
/// address and a frame pointer.
pub const LEAST_NATIVE_FRAME: u64 = 16;

/// The context, which stays where it is, and what compiled code calls with it. None of these suspends, fails or ends the run; they
/// answer 1 to say that an interpreter has to execute the access, and then have done nothing.
#[derive(Clone, Copy, Debug)]
pub struct Callbacks {
    pub context: *mut Context,
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

/// Runs compiled code until it leaves: first slot of the frame, first byte of its memory, number of the entry, code.
pub type Entrance = unsafe extern "C" fn(*mut u64, u64, u64, *const u8);

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

    /// Stands in for the code of a function that is not compiled: who calls it is told to leave before the call.
    fn absent(&self) -> *const u8;

    /// `None`: this function stays interpreted. The code refers to the program, which must stay where it is.
    fn compile(&mut self, program: &Program, function: FunctionId) -> Option<Compiled>;
}
