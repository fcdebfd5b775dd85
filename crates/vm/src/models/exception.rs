//! C++ exceptions: the VM unwinds interpreted frames; libstdc++ keeps the exception objects.
//!
//! As in the Itanium ABI there are two phases: first a handler is looked for, and only if there is one do
//! cleanups run. Without one the failure is reported where the exception was thrown.
//!
//! What takes a thread apart that leaves ([`super::cancellation`]) is an exception too, a forced one, which is of no type:
//! every cleanup and every `catch (...)` on the way runs, and where no frame is left the thread ends.

use std::ffi::{CStr, CString};

use unravel_code::{Clause, Inst, LandingPad, TypeInfo};
use unravel_trace::FailureKind;

use super::{Args, Family, Flow, OK};
use crate::guard;
use crate::interpret::Uncaught;
use crate::machine::Machine;
use crate::thread::{Cursor, Thrown};

pub(crate) const MODELS: Family = &[
    ("__cxa_throw", throw),
    ("__cxa_rethrow", rethrow),
    ("__cxa_get_exception_ptr", |_, a| {
        // SAFETY: the argument is an exception that a landing pad received.
        Flow::Return(unsafe { unravel_exception_adjusted(a.word(0)) })
    }),
    ("_Unwind_Resume", |m, a| {
        m.resume_exception(a.word(0));
        Flow::Throw
    }),
    ("__cxa_call_unexpected", |m, _| terminate(m)),
    ("_ZSt9terminatev", |m, _| terminate(m)),
    ("__clang_call_terminate", |m, _| terminate(m)),
    ("llvm.eh.typeid.for", |_, a| Flow::Return(selector_of(a.word(0)))),
    ("__gxx_personality_v0", |_, _| OK),
];

// Exceptions are named by their unwind headers, as in native landing pads.
unsafe extern "C" {
    fn unravel_exception_init(object: u64, type_info: u64, destructor: u64) -> u64;
    fn unravel_exception_rethrow() -> u64;
    fn unravel_exception_again();
    fn unravel_exception_type(exception: u64) -> u64;
    fn unravel_exception_adjusted(exception: u64) -> u64;
    fn unravel_exception_set_adjusted(exception: u64, adjusted: u64);
    fn unravel_exception_matches(wanted: u64, exception: u64, adjusted: *mut u64) -> i32;
    fn unravel_exception_globals() -> *mut [u64; 2];
    fn unravel_throw_system_error(code: i32) -> u64;
    fn unravel_throw_bad_alloc() -> u64;
    fn unravel_exception_forced(number: u64) -> u64;
    fn unravel_exception_is_forced(exception: u64) -> i32;
}

/// What takes this thread apart.
pub(super) fn forced(thread: usize) -> u64 {
    // SAFETY: the address of an object of the shim's.
    unsafe { unravel_exception_forced(thread as u64) }
}

fn is_forced(exception: u64) -> bool {
    // SAFETY: compares addresses.
    unsafe { unravel_exception_is_forced(exception) != 0 }
}

/// The name of the type by which a handler may say that it takes a forced exception.
const FORCED_TYPE: &CStr = c"N10__cxxabiv115__forced_unwindE";

/// Selector of a handler for everything, and of an exception specification.
const CATCH_ALL: u64 = 0x3fff_ffff;
const FILTER: u64 = 0xffff_ffff;

fn selector_of(type_info: u64) -> u64 {
    if type_info == 0 { CATCH_ALL } else { type_info & 0x3fff_ffff }
}

fn throw(m: &mut Machine, a: Args) -> Flow {
    // SAFETY: an object from __cxa_allocate_exception.
    let exception = unsafe { unravel_exception_init(a.word(0), a.word(1), a.word(2)) };
    m.current_thread().thrown = Thrown { exception, selector: 0 };
    Flow::Throw
}

fn rethrow(m: &mut Machine, _: Args) -> Flow {
    // SAFETY: asks libstdc++'s list of caught exceptions.
    let exception = unsafe { unravel_exception_rethrow() };
    if exception == 0 {
        return terminate(m);
    }
    m.current_thread().thrown = Thrown { exception, selector: 0 };
    Flow::Throw
}

fn terminate(m: &mut Machine) -> Flow {
    // SAFETY: libstdc++'s list of caught exceptions.
    let header = unsafe { (*unravel_exception_globals())[0] };
    let kind = if header == 0 { FailureKind::Abort } else { FailureKind::UncaughtException };
    m.terminate(kind, "std::terminate was called".into(), 0)
}

/// Makes an exception in the library's place: where it lies must not depend on what else this process allocated.
fn in_library(throw: impl FnOnce() -> u64) -> u64 {
    guard::enter_native();
    let exception = throw();
    guard::leave_native();
    exception
}

/// Where an exception lands.
struct Landing {
    /// Number of frames that stay.
    depth: usize,
    at: Cursor,
    selector: u64,
    adjusted: u64,
    handles: bool,
}

impl Machine {
    /// An exception thrown by native code, to be thrown on in the program.
    pub fn rethrow_native(&mut self, exception: u64) -> Flow {
        // SAFETY: the shim gave the exception to us, uncaught.
        unsafe { unravel_exception_again() };
        self.current_thread().thrown = Thrown { exception, selector: 0 };
        Flow::Throw
    }

    pub fn throw_system_error(&mut self, code: i32) -> Flow {
        // SAFETY: throws and catches in the shim.
        let exception = in_library(|| unsafe { unravel_throw_system_error(code) });
        self.rethrow_native(exception)
    }

    pub fn throw_bad_alloc(&mut self) -> Flow {
        // SAFETY: as above.
        let exception = in_library(|| unsafe { unravel_throw_bad_alloc() });
        self.rethrow_native(exception)
    }

    /// The exception that is on its way in the current thread.
    pub fn thrown(&self) -> Thrown {
        self.threads[self.current].thrown
    }

    /// A cleanup is done: the exception goes on.
    pub fn resume_exception(&mut self, exception: u64) {
        self.current_thread().thrown = Thrown { exception, selector: 0 };
    }

    /// Lands the current exception in the next frame that wants it. Fails, with the thread's frames as
    /// they were, if nobody handles it; leaves to Rust if its caller is Rust.
    pub fn unwind(&mut self) -> Result<(), Uncaught> {
        if is_forced(self.thrown().exception) {
            return self.unwind_by_force();
        }
        let mut first: Option<Landing> = None;
        let mut handled = false;
        let frames = self.threads[self.current].frames.len();
        let mut at = self.threads[self.current].at;
        let mut behind = false;
        for depth in (0..frames).rev() {
            let frame = self.threads[self.current].frames[depth];
            if let Some(landing) = self.landing(depth, at, behind) {
                handled |= landing.handles;
                first.get_or_insert(landing);
            }
            if handled {
                break;
            }
            if frame.entry && depth > 0 {
                // Rust code below may pass the exception on.
                handled = true;
                if first.is_none() {
                    self.pop_to(depth, frame.caller, frame.caller_top);
                    return Err(Uncaught);
                }
                break;
            }
            at = frame.caller;
            behind = true;
        }
        match first {
            Some(landing) if handled => {
                self.land(&landing);
                Ok(())
            }
            _ => self.fail_uncaught(),
        }
    }

    /// Goes on where an exception lands.
    fn land(&mut self, landing: &Landing) {
        let top_frame = self.threads[self.current].frames.get(landing.depth).copied();
        if let Some(frame) = top_frame {
            self.pop_to(landing.depth, landing.at, frame.caller_top);
        }
        let thread = self.current_thread();
        thread.at = landing.at;
        thread.thrown.selector = landing.selector;
        // SAFETY: the exception is alive.
        unsafe { unravel_exception_set_adjusted(thread.thrown.exception, landing.adjusted) };
    }

    /// Takes the current thread apart down to the next frame that has something to do; without one, it ends. Leaves to
    /// Rust if a frame's caller is Rust.
    fn unwind_by_force(&mut self) -> Result<(), Uncaught> {
        let mut at = self.threads[self.current].at;
        let mut behind = false;
        for depth in (0..self.threads[self.current].frames.len()).rev() {
            if self.land_in_cleanup(depth + 1) {
                return Ok(());
            }
            if let Some(landing) = self.landing(depth, at, behind) {
                self.land(&landing);
                return Ok(());
            }
            let frame = self.threads[self.current].frames[depth];
            if frame.entry && depth > 0 {
                self.pop_to(depth, frame.caller, frame.caller_top);
                return Err(Uncaught);
            }
            at = frame.caller;
            behind = true;
        }
        let result = self.threads[self.current].result;
        self.end_thread(result)
    }

    /// The same down to the end, where Rust code that stands between has no say.
    pub fn leave_by_force(&mut self) -> ! {
        loop {
            if self.unwind_by_force().is_err() {
                continue;
            }
            // SAFETY: the position was set to where the exception landed.
            let left = unsafe { self.interpret() };
            if left.is_ok() {
                self.finish_inconclusive("a cleanup handler returned to its caller".into());
            }
            if !is_forced(self.thrown().exception) {
                self.fail_uncaught();
            }
        }
    }

    /// Drops frames from `depth` on, with their atomic sections and stack memory.
    fn pop_to(&mut self, depth: usize, at: Cursor, top: u64) {
        while self.threads[self.current].frames.len() > depth {
            let frame = self.current_thread().frames.pop().expect("not empty");
            if frame.atomic {
                self.leave_atomic();
            }
        }
        let thread = self.current_thread();
        thread.at = at;
        let slot = thread.slot;
        self.memory.set_stack_top(slot, top);
    }

    /// Whether the frame at `depth`, stopped at `at`, has a landing pad that wants the exception.
    fn landing(&self, depth: usize, at: Cursor, behind: bool) -> Option<Landing> {
        let thread = &self.threads[self.current];
        let body = self.program.function(thread.frames[depth].function).body.as_ref()?;
        // SAFETY: the position is in this function's code.
        let index = unsafe { at.pc.offset_from(body.code.as_ptr()) } as u32 - u32::from(behind);
        let found = body.unwind.binary_search_by_key(&index, |(call, _)| *call).ok()?;
        let target = body.unwind[found].1;
        let Inst::LandingPad { pad, .. } = body.code[target as usize] else { return None };
        let pad = &self.program.landing_pads[pad as usize];
        let (selector, adjusted, handles) = self.select(pad, thread.thrown)?;
        // SAFETY: a target inside the function.
        let pc = unsafe { body.code.as_ptr().add(target as usize) };
        Some(Landing { depth: depth + 1, at: Cursor { pc, ..at }, selector, adjusted, handles })
    }

    /// The selector a landing pad gives to an exception, the adjusted object, and whether it handles it.
    fn select(&self, pad: &LandingPad, thrown: Thrown) -> Option<(u64, u64, bool)> {
        let address = |info: &TypeInfo| match info {
            TypeInfo::Any => 0,
            TypeInfo::At(address) => *address,
            TypeInfo::External(index) => self.natives.external_address(*index),
        };
        let forced = is_forced(thrown.exception);
        let matches = |info: &TypeInfo| {
            let wanted = address(info);
            let mut adjusted = 0;
            if forced {
                return (wanted == 0 || names(wanted, FORCED_TYPE)).then_some((wanted, 0));
            }
            // SAFETY: a type_info object and a living exception; the shim asks libstdc++.
            let taken = wanted == 0
                || unsafe { unravel_exception_matches(wanted, thrown.exception, &mut adjusted) }
                    != 0;
            taken.then_some((wanted, adjusted))
        };
        for clause in &pad.clauses {
            match clause {
                Clause::Catch(info) => {
                    if let Some((wanted, adjusted)) = matches(info) {
                        return Some((selector_of(wanted), adjusted, true));
                    }
                }
                Clause::Filter(allowed) => {
                    if !allowed.iter().any(|info| matches(info).is_some()) {
                        return Some((FILTER, 0, true));
                    }
                }
            }
        }
        pad.cleanup.then_some((0, 0, false))
    }

    /// Nobody handles the current exception.
    pub fn fail_uncaught(&mut self) -> ! {
        let thrown = self.threads[self.current].thrown;
        if is_forced(thrown.exception) {
            self.leave_by_force();
        }
        // SAFETY: the exception is alive.
        let name = type_name(unsafe { unravel_exception_type(thrown.exception) });
        let why = format!("an exception of type {name} is not caught");
        self.terminate(FailureKind::UncaughtException, why, thrown.exception)
    }
}

/// Whether a `type_info` has this mangled name.
fn names(type_info: u64, name: &CStr) -> bool {
    // SAFETY: a type_info holds its mangled name behind its virtual table.
    type_info != 0 && unsafe { CStr::from_ptr(*((type_info + 8) as *const *const i8)) } == name
}

/// The demangled name of a `type_info`.
fn type_name(type_info: u64) -> String {
    unsafe extern "C" {
        fn __cxa_demangle(
            name: *const i8,
            buffer: *mut i8,
            length: *mut usize,
            status: *mut i32,
        ) -> *mut i8;
    }
    if type_info == 0 {
        return "(unknown)".into();
    }
    // SAFETY: a type_info holds its mangled name behind its virtual table; the demangler allocates.
    unsafe {
        let mangled = CStr::from_ptr(*((type_info + 8) as *const *const i8));
        let text = mangled.to_string_lossy().into_owned();
        let Ok(name) = CString::new(text.trim_start_matches('*')) else { return text };
        let mut status = 0;
        let plain =
            __cxa_demangle(name.as_ptr(), std::ptr::null_mut(), std::ptr::null_mut(), &mut status);
        if plain.is_null() {
            return text;
        }
        let result = CStr::from_ptr(plain).to_string_lossy().into_owned();
        libc::free(plain.cast());
        result
    }
}
