//! Signals of the program.
//!
//! A handler may interrupt recorded code between any two instructions, so it writes into a stream of its own; one that interrupts a handler
//! keeps nothing. SIGSEGV and SIGBUS are ours first and can never be blocked. Of signals that would end the process, the ending is written.
//! A handler that is left by `longjmp` loses the rest of its thread, for nobody knows where the writer was.

use core::ffi::{c_int, c_void};

use crate::layout;
use crate::sys::{self, Real, SIGNALS, SigAction, SigInfo};
use crate::thread::Stream;
use crate::{ending, fault, file, threads};

/// What the program wants, by signal. Only changed by `sigaction`, which programs call seldom and rarely at once.
static mut THEIRS: [SigAction; SIGNALS] = [SigAction::DEFAULT; SIGNALS];

static REAL: Real = Real::new(c"sigaction");

fn theirs(signal: c_int) -> *mut SigAction {
    // SAFETY: callers pass numbers of signals.
    unsafe { (&raw mut THEIRS).cast::<SigAction>().add(signal as usize) }
}

fn real(signal: c_int, new: *const SigAction, old: *mut SigAction) -> c_int {
    // SAFETY: `sigaction` of the C library.
    unsafe {
        let real: extern "C" fn(c_int, *const SigAction, *mut SigAction) -> c_int =
            core::mem::transmute(REAL.get());
        real(signal, new, old)
    }
}

fn bit(signal: c_int) -> u64 {
    1 << (signal - 1)
}

/// Signals that we listen to whatever the program does.
fn always_ours(signal: c_int) -> bool {
    matches!(signal, sys::SIGSEGV | sys::SIGBUS | sys::SIGABRT | sys::SIGFPE | sys::SIGILL)
}

fn listen(signal: c_int, flags: c_int, mask: u64) {
    let mut action = SigAction::DEFAULT;
    let fault = matches!(signal, sys::SIGSEGV | sys::SIGBUS);
    action.handler =
        if fault { fault::on_fault as *const () as usize } else { on_signal as *const () as usize };
    action.flags =
        flags | sys::SA_SIGINFO | if fault { sys::SA_NODEFER | sys::SA_ONSTACK } else { 0 };
    action.mask[0] = mask & !(bit(sys::SIGSEGV) | bit(sys::SIGBUS));
    real(signal, &action, core::ptr::null_mut());
}

pub fn start() {
    for signal in [sys::SIGSEGV, sys::SIGBUS] {
        listen(signal, 0, 0);
    }
    if file::recording() {
        for signal in [sys::SIGABRT, sys::SIGFPE, sys::SIGILL, sys::SIGQUIT] {
            listen(signal, sys::SA_ONSTACK, 0);
        }
    }
}

/// Calls the program's handler in a stream of its own, or ends the process as the signal would.
pub fn deliver(signal: c_int, info: *mut SigInfo, context: *mut c_void) {
    // SAFETY: the kernel passes info and context; the action is a copy.
    unsafe {
        let action = *theirs(signal);
        match action.handler {
            sys::SIG_IGN if !matches!(signal, sys::SIGSEGV | sys::SIGBUS) => return,
            sys::SIG_DFL | sys::SIG_IGN => {
                if signal == sys::SIGQUIT {
                    ending::write(layout::END_HANG, 0, 0, core::ptr::null(), 0);
                } else {
                    fault::die_of(signal, info, context);
                }
                real(signal, &SigAction::DEFAULT, core::ptr::null_mut());
                // A fault happens again by itself; whatever was sent is sent again.
                if (*info).code <= 0 || !always_ours(signal) || signal == sys::SIGABRT {
                    sys::raise(signal);
                }
                return;
            }
            _ => {}
        }
        if action.flags & sys::SA_RESETHAND != 0 {
            *theirs(signal) = SigAction::DEFAULT;
        }
        let (stream, pointer) = (Stream::current(), sys::log_pointer());
        let own = stream_for_handler(stream);
        if !own.is_null() {
            (*own).depth = 1;
            Stream::install(own, (*own).pointer);
        }
        if action.flags & sys::SA_SIGINFO != 0 {
            let handler: extern "C" fn(c_int, *mut SigInfo, *mut c_void) =
                core::mem::transmute(action.handler);
            handler(signal, info, context);
        } else {
            let handler: extern "C" fn(c_int) = core::mem::transmute(action.handler);
            handler(signal);
        }
        if !own.is_null() {
            (*own).depth = 0;
            (*own).pointer = sys::log_pointer();
        }
        Stream::install(stream, pointer);
    }
}

/// Where a handler writes that interrupts this stream.
unsafe fn stream_for_handler(stream: *mut Stream) -> *mut Stream {
    // SAFETY: the stream is this thread's.
    unsafe {
        if stream.is_null() {
            return core::ptr::null_mut();
        }
        if (*stream).handlers.is_null() {
            let kept = (*stream).kept && (*stream).depth == 0;
            let own = match kept
                .then(|| threads::new_entry((*stream).number, 0, layout::STATE_HANDLERS))
            {
                Some(number) if number != u32::MAX => Stream::of(number, layout::BEGIN_START, &[]),
                _ => Stream::sink(),
            };
            if !own.is_null() {
                (*own).pointer = (*own).start as usize;
            }
            (*stream).handlers = own;
        }
        (*stream).handlers
    }
}

extern "C" fn on_signal(signal: c_int, info: *mut SigInfo, context: *mut c_void) {
    let errno = sys::errno();
    deliver(signal, info, context);
    sys::set_errno(errno);
}

/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sigaction(
    signal: c_int,
    new: *const SigAction,
    old: *mut SigAction,
) -> c_int {
    let ours = signal > 0 && (signal as usize) < SIGNALS;
    if !ours {
        return real(signal, new, old);
    }
    // SAFETY: the caller passes null or actions.
    unsafe {
        let before = *theirs(signal);
        if !new.is_null() {
            let action = *new;
            let handled = !matches!(action.handler, sys::SIG_DFL | sys::SIG_IGN);
            let listened = always_ours(signal) || signal == sys::SIGQUIT && file::recording();
            if !handled && !listened {
                if real(signal, new, core::ptr::null_mut()) != 0 {
                    return -1;
                }
                *theirs(signal) = action;
            } else {
                // The kernel refuses some signals; ask it before anything is changed.
                let mut current = SigAction::DEFAULT;
                if real(signal, core::ptr::null(), &mut current) != 0 || matches!(signal, 9 | 19) {
                    return real(signal, new, old);
                }
                *theirs(signal) = action;
                listen(signal, action.flags & !sys::SA_RESETHAND, action.mask[0]);
            }
        }
        if !old.is_null() {
            *old = before;
        }
    }
    0
}

/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn signal(number: c_int, handler: usize) -> usize {
    let mut new = SigAction::DEFAULT;
    new.handler = handler;
    new.flags = sys::SA_RESTART;
    let mut old = SigAction::DEFAULT;
    // SAFETY: both are whole.
    match unsafe { sigaction(number, &new, &mut old) } {
        0 => old.handler,
        _ => sys::SIG_ERR,
    }
}

macro_rules! masks {
    ($($name:ident = $real:literal;)*) => {$(
        /// Never lets SIGSEGV and SIGBUS be blocked: a blocked fault ends the process.
        ///
        /// # Safety
        /// As the C library's.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(how: c_int, new: *const u64, old: *mut u64) -> c_int {
            static REAL: Real = Real::new($real);
            const UNBLOCK: c_int = 1;
            let mut changed = [0u64; 16];
            let mut with = new;
            // SAFETY: a set of signals has 16 words, of which the kernel reads one.
            unsafe {
                if !new.is_null() && how != UNBLOCK {
                    changed[0] = *new & !(bit(sys::SIGSEGV) | bit(sys::SIGBUS));
                    with = changed.as_ptr();
                }
                let real: extern "C" fn(c_int, *const u64, *mut u64) -> c_int = core::mem::transmute(REAL.get());
                real(how, with, old)
            }
        }
    )*};
}

masks! {
    sigprocmask = c"sigprocmask";
    pthread_sigmask = c"pthread_sigmask";
}

macro_rules! jumps {
    ($($name:ident = $real:literal;)*) => {$(
        /// # Safety
        /// As the C library's.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(buffer: *mut c_void, value: c_int) -> ! {
            static REAL: Real = Real::new($real);
            leave_handler();
            // SAFETY: the same function.
            unsafe {
                let real: extern "C" fn(*mut c_void, c_int) -> ! = core::mem::transmute(REAL.get());
                real(buffer, value)
            }
        }
    )*};
}

jumps! {
    longjmp = c"longjmp";
    _longjmp = c"_longjmp";
    siglongjmp = c"siglongjmp";
    __longjmp_chk = c"__longjmp_chk";
}

/// A jump out of a signal handler: the thread's stream ends here.
fn leave_handler() {
    let stream = Stream::current();
    // SAFETY: the stream is this thread's.
    unsafe {
        if !stream.is_null() && (*stream).depth > 0 {
            (*stream).give_up(layout::LOST_JUMP);
            (*stream).depth = 0;
            sys::set_log_pointer((*stream).start as usize);
        }
    }
}
