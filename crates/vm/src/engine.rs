//! Compiled code in the interpreter's loop: which functions are worth compiling, and how their code is run.
//!
//! What compiled code is, and why a run does not depend on it, is said in [`unravel_code::compiled`]. The loop enters it at the
//! beginning of functions, at the head of loops and behind calls, and goes on where it has left. A function is compiled when it
//! was met often enough, in all runs so far: its code is kept as long as the machine, and forked processes inherit it. Since a run
//! is the same to the byte whenever that happens, it may depend on anything.
//!
//! Runs with shadows or routes are interpreted, and those that look for memory nobody has written: there every access has flags
//! that only the interpreter heeds.

use unravel_code::compiled::{
    Callbacks, Compiled, Compiler, Context, Entrance, FEW_SLOTS, Frame, LEAST_NATIVE_FRAME,
};
use unravel_code::layout::{STACK_SIZE, STACKS};
use unravel_code::{FunctionId, Program};
use unravel_trace::SiteId;

use crate::budgets::{
    HEAT, HEAT_PER_INSTRUCTION, MAX_JUMPS, NATIVE_MARGIN, NATIVE_STACK, REGISTERS, STACK_AHEAD,
};
use crate::guard;
use crate::interpret::{REGISTER_MARGIN, STACK_MARGIN};
use crate::machine::{Machine, State};
use crate::memory::in_arena;
use crate::site_tables::{LEARN, WATCH};
use crate::thread::Thread;

/// Which engine executes programs.
#[derive(Clone, Copy, Debug, Default)]
pub enum Engine {
    #[default]
    Interpret,
    /// With what compiles functions, if there is anything that can.
    Compiled(fn(Callbacks) -> Option<Box<dyn Compiler>>, When),
}

/// When a function is compiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// When it was met often enough.
    Hot,
    /// When it is met for the first time: to compare engines.
    Met,
}

/// What the code of an [`Engine::Compiled`] needs.
pub(crate) struct Shortcuts {
    compiler: Box<dyn Compiler>,
    entrance: Entrance,
    /// By function. Boxed: the loop keeps pointers.
    compiled: Vec<Option<Box<Compiled>>>,
    /// The same for compiled code, which the context points to: never grows.
    codes: Vec<*const u8>,
    /// How often each was met, in samples; `u32::MAX` once it has been compiled or refused.
    heat: Vec<u32>,
    when: When,
    /// Owned; compiled code knows its address.
    context: *mut Context,
    /// Frames that compiled code lists when it leaves, the innermost first: never more than fit.
    pending: Vec<Frame>,
}

/// Native calls of compiled code that can be on the way at once.
const MOST_PENDING: usize = NATIVE_STACK / LEAST_NATIVE_FRAME as usize;
/// Slots that they may use without asking.
const SLOTS_AHEAD: usize = MOST_PENDING * FEW_SLOTS as usize;
const _: () = assert!(SLOTS_AHEAD + REGISTER_MARGIN < REGISTERS);

impl Drop for Shortcuts {
    fn drop(&mut self) {
        // SAFETY: made by `new`; nothing is compiled or run any more.
        drop(unsafe { Box::from_raw(self.context) });
    }
}

/// Jumps and calls between two samples: a prime, so that no rhythm of a program hides a function.
const SAMPLE: i64 = 61;

/// Where compiled code has left, in the function of the last frame, and what it did before.
pub(crate) struct Left {
    pub at: usize,
    pub fp: *mut u64,
    pub base: u64,
    pub steps: u64,
}

impl Shortcuts {
    pub fn new(engine: Engine, program: &Program) -> Option<Box<Shortcuts>> {
        let Engine::Compiled(compiler, when) = engine else { return None };
        let functions = program.functions.len();
        let context = Box::into_raw(Box::new(Context {
            itself: std::ptr::null_mut(),
            flags: std::ptr::null(),
            stack: 0,
            top: std::ptr::null_mut(),
            stack_end: 0,
            next_frame: std::ptr::null_mut(),
            pending: std::ptr::null_mut(),
            slots_end: 0,
            native_end: 0,
            pattern: 0,
            codes: std::ptr::null(),
            left_at: 0,
            fp: std::ptr::null_mut(),
            base: 0,
            steps: 0,
            allowance: 0,
            seen: std::ptr::null(),
            stretch: 0,
            clears: 0,
            looked: 0,
            counts: 0,
            changed: 0,
        }));
        let Some(compiler) = compiler(Callbacks { context, check, load, store, copy, fill }) else {
            // SAFETY: just made, and nobody else has it.
            drop(unsafe { Box::from_raw(context) });
            return None;
        };
        let codes = vec![compiler.absent(); functions];
        // SAFETY: just made.
        unsafe {
            (*context).itself = context;
            (*context).codes = codes.as_ptr();
        }
        Some(Box::new(Shortcuts {
            entrance: compiler.entrance(),
            compiler,
            compiled: (0..functions).map(|_| None).collect(),
            codes,
            heat: vec![0; functions],
            when,
            context,
            pending: Vec::with_capacity(MOST_PENDING),
        }))
    }

    pub fn compiled_functions(&self) -> usize {
        self.compiled.iter().flatten().count()
    }

    /// The code of a function, or null.
    #[inline]
    pub fn of(&self, function: FunctionId) -> *const Compiled {
        self.compiled[function.0 as usize].as_deref().map_or(std::ptr::null(), std::ptr::from_ref)
    }

    /// A function that is not compiled was met: a call, or a jump back in it. Now and then it is looked whether it should be.
    #[inline]
    pub fn meet(&mut self, program: &Program, function: FunctionId, fuel: i64) -> *const Compiled {
        if fuel % SAMPLE == 0 || self.when == When::Met {
            self.warm_up(program, function);
        }
        self.of(function)
    }

    #[cold]
    fn warm_up(&mut self, program: &Program, function: FunctionId) {
        let index = function.0 as usize;
        let instructions = program.function(function).body.as_ref().map_or(0, |b| b.code.len());
        let heat = &mut self.heat[index];
        if *heat == u32::MAX {
            return;
        }
        *heat += 1;
        let enough = HEAT + HEAT_PER_INSTRUCTION * instructions as u32;
        if *heat >= enough || self.when == When::Met {
            *heat = u32::MAX;
            self.compiled[index] = self.compiler.compile(program, function).map(Box::new);
            if let Some(compiled) = &self.compiled[index] {
                self.codes[index] = compiled.code;
            }
        }
    }

    /// Runs compiled code of the current thread's innermost function from an entry on.
    ///
    /// # Safety
    /// The pointers are to the state's own shortcuts, the state, its current thread and code from [`Shortcuts::of`]
    /// for the function of the innermost frame, whose slots and memory are at `fp` and `base`. Nobody borrows any of it.
    #[inline]
    pub unsafe fn run(
        shortcuts: *mut Shortcuts,
        state: *mut State,
        thread: *mut Thread,
        code: *const Compiled,
        (fp, base): (*mut u64, u64),
        entry: u32,
    ) -> Left {
        // SAFETY: per the contract. The code calls nothing but the callbacks below, which get a handle of their own.
        unsafe {
            let slot = (*thread).slot;
            // Jumps and calls use the same fuel: half of it each, until next time.
            let fuel = ((*state).fuel / 2).clamp(0, 1 << 30) as u64;
            let jumps = fuel.min(u64::from(MAX_JUMPS.saturating_sub((*thread).jumps)));
            let frames = &raw mut (*thread).frames;
            let first = (*frames).as_mut_ptr();
            let context = (*shortcuts).context;
            let pending = (*shortcuts).pending.as_mut_ptr();
            (*context).flags = (*state).site_flags;
            (*context).stack = STACKS + slot as u64 * STACK_SIZE;
            (*context).top = (*state).memory.stack_top.as_mut_ptr().add(slot);
            (*context).next_frame = first.add((*frames).len());
            (*context).pending = pending;
            let ahead = (*(*context).top + STACK_AHEAD).max((*state).memory.stack_high(slot));
            let limit = STACK_SIZE - STACK_MARGIN - u64::from(FEW_SLOTS) * 8;
            (*context).stack_end = ahead.min((*context).stack + limit);
            let slots_end = (*thread).registers.add(REGISTERS - REGISTER_MARGIN - SLOTS_AHEAD);
            // Where spins are pruned, calls clear their slots: of many the interpreter does.
            (*context).clears = u64::from((*state).prune_spins);
            (*context).slots_end = if (*state).prune_spins { 0 } else { slots_end as u64 };
            // Calls look at the stack only if they use more of it.
            let is_full = *(*context).top > (*context).stack + limit;
            (*context).native_end = match fp > slots_end || is_full {
                true => u64::MAX,
                false => (*thread).native_stack + NATIVE_MARGIN,
            };
            (*context).pattern = u64::from_ne_bytes([(*state).limits.uninit.pattern; 8]);
            (*context).allowance = jumps | fuel << 32;
            (*context).steps = 0;
            let by = (*state).learns_of();
            ((*context).seen, (*context).stretch) = (*state).sharing.seen(by);
            (*context).looked = 0;
            // Where nobody seems to get anywhere, the first change matters at once.
            (*context).counts = u64::from(!(*state).stagnation.is_watched());
            (*context).changed = 0;
            ((*shortcuts).entrance)(fp, base, u64::from(entry), (*code).code);
            let jumped = jumps - u64::from((*context).allowance as u32);
            let called = fuel - ((*context).allowance >> 32);
            (*state).fuel -= (jumped + called) as i64;
            (*thread).jumps += jumped as u32;
            if called > 0 {
                (*state).memory.note_high(slot, (*context).stack_end);
            }
            if (*context).looked != 0 {
                (*thread).empty_loops = 0;
            }
            if (*context).changed != 0 {
                (*state).stored_unseen((*context).changed);
            }
            (*frames).set_len((*context).next_frame.offset_from(first) as usize);
            let Context { fp, base, steps, .. } = *context;
            let count = (*context).pending.offset_from(pending) as usize;
            if count > 0 {
                let pending = std::slice::from_raw_parts(pending, count);
                (*frames).extend(pending.iter().rev());
            }
            Left { at: (*context).left_at as usize, fp, base, steps }
        }
    }
}

const _: () = assert!(WATCH == unravel_code::compiled::WATCHED);
const _: () = assert!(LEARN == unravel_code::compiled::TEACHES);

/// Flags that accesses of compiled code may have: all that is done about them leaves the thread running.
const HEEDED: u8 = WATCH | LEARN;

unsafe extern "C" fn check(_: *mut Context, address: u64, bytes: u64) -> u64 {
    // SAFETY: called by compiled code, which the loop called with no borrow of the state.
    let Some(machine) = (unsafe { guard::machine() }) else { return 1 };
    // Memory outside of the arena is the interpreter's: it may not be there.
    u64::from(!in_arena(address) || machine.memory.check(address, bytes).is_err())
}

unsafe extern "C" fn load(context: *mut Context, address: u64, bytes: u64, site: u64) -> u64 {
    // SAFETY: as in `check`.
    let Some(mut machine) = (unsafe { guard::machine() }) else { return 1 };
    let site = SiteId(site as u32);
    // SAFETY: the table has a byte for each site.
    let flags = unsafe { *machine.site_flags.add(site.index()) };
    if flags & !HEEDED != 0 {
        return 1;
    }
    machine.before_access(flags, address, bytes, false, site);
    // SAFETY: the context that compiled code was given.
    unsafe { go_on_teaching(&machine, context) };
    0
}

/// What is known now of accesses that teach nothing.
unsafe fn go_on_teaching(machine: &Machine, context: *mut Context) {
    let (_, stretch) = machine.sharing.seen(machine.learns_of());
    // SAFETY: as in `load`.
    unsafe { (*context).stretch = stretch };
}

unsafe extern "C" fn store(
    context: *mut Context,
    address: u64,
    bytes: u64,
    site: u64,
    value: u64,
) -> u64 {
    // SAFETY: as in `check`.
    let Some(mut machine) = (unsafe { guard::machine() }) else { return 1 };
    let site = SiteId(site as u32);
    // SAFETY: as in `load`.
    let flags = unsafe { *machine.site_flags.add(site.index()) };
    if flags & !HEEDED != 0 {
        return 1;
    }
    machine.before_access(flags, address, bytes, true, site);
    // SAFETY: compiled code has checked the memory.
    unsafe {
        go_on_teaching(&machine, context);
        let old = crate::interpret::load_word(address, bytes);
        crate::interpret::store_word(address, bytes, value);
        if flags & WATCH != 0 && crate::interpret::load_word(address, bytes) != old {
            machine.stored(false);
            (*context).flags = machine.site_flags;
        }
    }
    0
}

/// Whether these ranges of memory may be accessed at a site as far as compiled code goes; its flags, if so.
fn heeds(machine: &Machine, ranges: &[u64], bytes: u64, site: SiteId) -> Option<u8> {
    // SAFETY: as in `load`.
    let flags = unsafe { *machine.site_flags.add(site.index()) };
    let is_valid = |at: &u64| in_arena(*at) && machine.memory.check(*at, bytes).is_ok();
    (flags & !HEEDED == 0 && ranges.iter().all(is_valid)).then_some(flags)
}

/// Memory was written by a library function.
unsafe fn wrote(machine: &mut Machine, context: *mut Context, flags: u8) {
    if flags & WATCH != 0 {
        machine.stored(false);
        // SAFETY: the context that the callback was given.
        unsafe { (*context).flags = machine.site_flags };
    }
}

unsafe extern "C" fn copy(context: *mut Context, to: u64, from: u64, bytes: u64, site: u64) -> u64 {
    if bytes == 0 {
        return 0;
    }
    // SAFETY: as in `check`.
    let Some(mut machine) = (unsafe { guard::machine() }) else { return 1 };
    let site = SiteId(site as u32);
    let Some(flags) = heeds(&machine, &[to, from], bytes, site) else { return 1 };
    if flags != 0 {
        machine.before_access(flags, from, bytes, false, site);
        machine.before_access(flags, to, bytes, true, site);
    }
    // SAFETY: both ranges were checked.
    unsafe {
        std::ptr::copy(from as *const u8, to as *mut u8, bytes as usize);
        wrote(&mut machine, context, flags);
    }
    0
}

unsafe extern "C" fn fill(context: *mut Context, to: u64, byte: u64, bytes: u64, site: u64) -> u64 {
    if bytes == 0 {
        return 0;
    }
    // SAFETY: as in `check`.
    let Some(mut machine) = (unsafe { guard::machine() }) else { return 1 };
    let site = SiteId(site as u32);
    let Some(flags) = heeds(&machine, &[to], bytes, site) else { return 1 };
    if flags != 0 {
        machine.before_access(flags, to, bytes, true, site);
    }
    // SAFETY: the range was checked.
    unsafe {
        (to as *mut u8).write_bytes(byte as u8, bytes as usize);
        wrote(&mut machine, context, flags);
    }
    0
}
