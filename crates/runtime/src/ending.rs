//! How the process ends: the first ending that is written stands.

use core::ffi::{c_char, c_int, c_uint, c_void};
use core::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

use crate::file;
use crate::layout;
use crate::stack::Stack;
use crate::sys::{self, Real};
use crate::thread::Stream;

/// The thread that writes it or has written it, by the system's number; 0 is none.
static WRITER: AtomicU32 = AtomicU32::new(0);
static PREVIOUS_TERMINATE: AtomicUsize = AtomicUsize::new(0);

/// How often a thread that fails while another writes its ending lets others go first: some hundred times what writing takes.
const PATIENCE: u32 = 100_000;

/// Another thread writes an ending, and this one is about to end the process: not before that is written. A thread that fails while it
/// writes its own waits for nobody.
fn wait_for(writer: u32) {
    for _ in 0..PATIENCE {
        // SAFETY: the tables are mapped.
        let kind = unsafe { (&raw const (*file::ending()).kind).read_volatile() };
        if kind != 0 || WRITER.load(Ordering::Acquire) != writer {
            return;
        }
        // SAFETY: it has no conditions.
        unsafe { sys::sched_yield() };
    }
}

/// Writes the ending, unless there is one. `from` is the address at which the stack begins, or 0 for here.
pub fn write(kind: u32, code: i64, address: u64, text: *const c_char, from: u64) {
    if !file::recording() {
        return;
    }
    let me = sys::thread_id();
    if let Err(writer) = WRITER.compare_exchange(0, me, Ordering::AcqRel, Ordering::Acquire) {
        if writer != me {
            wait_for(writer);
        }
        return;
    }
    // SAFETY: the tables are mapped, the text ends with a zero; the kind is written last.
    unsafe {
        let ending = file::ending();
        let stream = Stream::current();
        (*ending).thread = if stream.is_null() { u32::MAX } else { (*stream).number };
        (*ending).code = code;
        (*ending).address = address;
        if !text.is_null() {
            let length = sys::strlen(text);
            let length = if length < layout::MESSAGE { length } else { layout::MESSAGE };
            sys::memcpy((&raw mut (*ending).text).cast(), text.cast(), length);
            (*ending).message = length as u32;
        }
        if !matches!(kind, layout::END_EXIT | layout::END_HANG | layout::END_EXEC) {
            let frames = (&raw mut (*ending).stack).cast::<[u64; 2]>();
            let stack = Stack::walk(frames, layout::ENDING_FRAMES, from);
            (*ending).frames = stack.count as u32;
        }
        (&raw mut (*ending).kind).write_volatile(kind);
    }
}

/// Takes an ending back that did not happen: `exec` failed.
pub fn forget() {
    if file::recording() {
        // SAFETY: the tables are mapped.
        unsafe { (&raw mut (*file::ending()).kind).write_volatile(0) };
        WRITER.store(0, Ordering::Release);
    }
}

pub extern "C" fn at_exit(code: c_int, _: *mut c_void) {
    write(layout::END_EXIT, i64::from(code), 0, core::ptr::null(), 0);
}

/// The handler of the C++ library for exceptions that nobody catches.
extern "C" fn on_terminate() {
    let current = sys::find(c"__cxa_current_exception_type");
    // SAFETY: these are the C++ library's functions of those types.
    unsafe {
        let thrown = current != 0 && {
            let current: extern "C" fn() -> *const c_void = core::mem::transmute(current);
            !current().is_null()
        };
        if thrown {
            write(layout::END_EXCEPTION, 0, 0, core::ptr::null(), 0);
        }
        let previous = PREVIOUS_TERMINATE.load(Ordering::Relaxed);
        if previous != 0 {
            let previous: extern "C" fn() = core::mem::transmute(previous);
            previous();
        }
        sys::raise(sys::SIGABRT);
    }
}

/// Listens for uncaught exceptions, if the program has a C++ library.
pub fn watch_exceptions() {
    let set = sys::find(c"_ZSt13set_terminatePFvvE");
    if set == 0 {
        return;
    }
    // SAFETY: `std::set_terminate`.
    unsafe {
        let set: extern "C" fn(extern "C" fn()) -> usize = core::mem::transmute(set);
        PREVIOUS_TERMINATE.store(set(on_terminate), Ordering::Relaxed);
    }
}

macro_rules! assertions {
    ($($name:ident($($argument:ident: $kind:ty),*) = $real:literal;)*) => {$(
        /// # Safety
        /// As the C library's.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(text: *const c_char, $($argument: $kind),*) -> ! {
            static REAL: Real = Real::new($real);
            write(layout::END_ASSERTION, 0, 0, text, 0);
            // SAFETY: the same function, the same arguments.
            unsafe {
                let real: unsafe extern "C" fn(*const c_char, $($kind),*) -> ! =
                    core::mem::transmute(REAL.get());
                real(text, $($argument),*)
            }
        }
    )*};
}

assertions! {
    __assert_fail(file: *const c_char, line: c_uint, function: *const c_char) = c"__assert_fail";
    __assert(file: *const c_char, line: c_int) = c"__assert";
}

macro_rules! ends_at_once {
    ($($name:ident = $real:literal;)*) => {$(
        /// # Safety
        /// As the C library's.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(code: c_int) -> ! {
            static REAL: Real = Real::new($real);
            write(layout::END_EXIT, i64::from(code), 0, core::ptr::null(), 0);
            // SAFETY: the same function.
            unsafe {
                let real: unsafe extern "C" fn(c_int) -> ! = core::mem::transmute(REAL.get());
                real(code)
            }
        }
    )*};
}

ends_at_once! {
    _exit = c"_exit";
    _Exit = c"_Exit";
}
