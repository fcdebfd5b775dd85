//! Signals: a crash inside native code ends the run, not the process.
//!
//! The handler rewrites the interrupted context so that the running fiber returns with the signal, as
//! if it had ended there. A timer watches for native calls that do not come back.

use std::cell::UnsafeCell;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, Ordering};

use corosensei::trap::{CoroutineTrapHandler, TrapHandlerRegs};

use crate::budgets::NATIVE_LIMIT;
use crate::error::VmError;
use crate::machine::{Machine, State};
use crate::thread::Trapped;

/// Whether there is a machine, or one is being made.
static CLAIMED: AtomicBool = AtomicBool::new(false);
static STATE: AtomicPtr<State> = AtomicPtr::new(std::ptr::null_mut());
static IN_FIBER: AtomicBool = AtomicBool::new(false);
static IN_NATIVE: AtomicBool = AtomicBool::new(false);
/// Seconds the current native call has taken.
static NATIVE_SECONDS: AtomicU32 = AtomicU32::new(0);

struct Handler(UnsafeCell<Option<CoroutineTrapHandler<Trapped>>>);
// SAFETY: the VM runs on one native thread; its signal handler runs on the same one.
unsafe impl Sync for Handler {}
static HANDLER: Handler = Handler(UnsafeCell::new(None));

/// The right to be the one machine of this process. Another may have it when this is dropped.
#[derive(Debug)]
pub(crate) struct Claim(());

pub(crate) fn claim() -> Result<Claim, VmError> {
    match CLAIMED.swap(true, Ordering::SeqCst) {
        true => Err(VmError::AlreadyExists),
        false => Ok(Claim(())),
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        // The handlers stay, but must not use what is gone.
        STATE.store(std::ptr::null_mut(), Ordering::SeqCst);
        CLAIMED.store(false, Ordering::SeqCst);
    }
}

/// Installs the handlers for the one machine of this process, which has claimed to be it.
pub(crate) fn install(state: NonNull<State>) {
    STATE.store(state.as_ptr(), Ordering::SeqCst);
    // SAFETY: plain signal set-up; the alternate stack is never freed.
    unsafe {
        let size = 64 << 10;
        let mut present: libc::stack_t = std::mem::zeroed();
        libc::sigaltstack(std::ptr::null(), &mut present);
        if present.ss_size < size {
            let stack = libc::stack_t {
                ss_sp: Box::leak(vec![0u8; size].into_boxed_slice()).as_mut_ptr().cast(),
                ss_flags: 0,
                ss_size: size,
            };
            libc::sigaltstack(&stack, std::ptr::null_mut());
        }
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = handle as *const () as usize;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_NODEFER | libc::SA_RESTART;
        for signal in
            [libc::SIGSEGV, libc::SIGBUS, libc::SIGFPE, libc::SIGABRT, libc::SIGILL, libc::SIGALRM]
        {
            libc::sigaction(signal, &action, std::ptr::null_mut());
        }
    }
    watch();
}

/// Starts the timer; it is not inherited by a forked process, which calls this again.
pub(crate) fn watch() {
    let second = libc::timeval { tv_sec: 1, tv_usec: 0 };
    let timer = libc::itimerval { it_interval: second, it_value: second };
    // SAFETY: sets this process's own timer.
    unsafe { libc::setitimer(libc::ITIMER_REAL, &timer, std::ptr::null_mut()) };
}

/// A handle to the machine of this process, for callbacks from native code.
///
/// # Safety
/// Nobody up the stack holds a borrow of the state: all that is between them and the caller is native code that
/// a method of their handle has called.
pub(crate) unsafe fn machine() -> Option<Machine> {
    let state = NonNull::new(STATE.load(Ordering::Relaxed))?;
    // SAFETY: the state is alive, since its end clears the pointer; the rest is the caller's promise.
    Some(unsafe { Machine::of(state) })
}

pub(crate) fn enter(handler: CoroutineTrapHandler<Trapped>) {
    // SAFETY: only this native thread and its handlers use the cell.
    unsafe { *HANDLER.0.get() = Some(handler) };
    IN_FIBER.store(true, Ordering::Relaxed);
}

pub(crate) fn leave() {
    IN_FIBER.store(false, Ordering::Relaxed);
    IN_NATIVE.store(false, Ordering::Relaxed);
}

pub(crate) fn enter_native() {
    NATIVE_SECONDS.store(0, Ordering::Relaxed);
    IN_NATIVE.store(true, Ordering::Relaxed);
}

pub(crate) fn leave_native() {
    IN_NATIVE.store(false, Ordering::Relaxed);
}

extern "C" fn handle(signal: i32, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    // SAFETY: called by the kernel with valid pointers, on the alternate stack.
    unsafe {
        if signal == libc::SIGALRM {
            let late = NATIVE_SECONDS.fetch_add(1, Ordering::Relaxed) >= NATIVE_LIMIT;
            if !(late && IN_NATIVE.load(Ordering::Relaxed)) {
                return;
            }
        }
        let context = &mut *(context as *mut libc::ucontext_t);
        let registers = &mut context.uc_mcontext.gregs;
        let handler = *HANDLER.0.get();
        let sp = registers[libc::REG_RSP as usize] as usize;
        match handler {
            Some(handler)
                if IN_FIBER.load(Ordering::Relaxed) && handler.stack_ptr_in_bounds(sp) =>
            {
                // For an address that cannot exist, the kernel does not say which.
                const SI_KERNEL: i32 = 0x80;
                let unknown = (*info).si_code == SI_KERNEL;
                let address = if unknown { u64::MAX } else { (*info).si_addr() as u64 };
                let trapped = Trapped { signal, address };
                let TrapHandlerRegs { rip, rsp, rbp, rdi, rsi } =
                    handler.setup_trap_handler(move || trapped);
                registers[libc::REG_RIP as usize] = rip as i64;
                registers[libc::REG_RSP as usize] = rsp as i64;
                registers[libc::REG_RBP as usize] = rbp as i64;
                registers[libc::REG_RDI as usize] = rdi as i64;
                registers[libc::REG_RSI as usize] = rsi as i64;
            }
            // Not the program's doing: let it kill us as it would have.
            _ => {
                libc::signal(signal, libc::SIG_DFL);
                if signal == libc::SIGABRT || signal == libc::SIGALRM {
                    libc::raise(signal);
                }
            }
        }
    }
}
