//! Signals of this process: a crash inside native code ends the run, not the process.
//!
//! The handler rewrites the interrupted context so that the running fiber returns with the signal, as
//! if it had ended there. So does a call that does not come back, once [`crate::watchdog`] strikes it.

use std::cell::{Cell, UnsafeCell};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicPtr, AtomicU64, Ordering};

use corosensei::trap::{CoroutineTrapHandler, TrapHandlerRegs};

use crate::error::VmError;
use crate::machine::{Machine, State};
use crate::thread::Trapped;

/// Whether there is a machine, or one is being made.
static CLAIMED: AtomicBool = AtomicBool::new(false);
static STATE: AtomicPtr<State> = AtomicPtr::new(std::ptr::null_mut());
static IN_FIBER: AtomicBool = AtomicBool::new(false);
static IN_NATIVE: AtomicBool = AtomicBool::new(false);
/// Native calls so far: another number, another call.
static CALLS: AtomicU64 = AtomicU64::new(0);
/// The native thread that runs the machine, as the kernel knows it.
static MACHINE_THREAD: AtomicI32 = AtomicI32::new(0);
/// What the watchdog found, until the machine's thread has taken note of it.
static STRIKE: AtomicI32 = AtomicI32::new(NO_STRIKE);
const NO_STRIKE: i32 = 0;

/// Why a call is given up; the address of its [`Trapped`].
pub(crate) const BLOCKED: u64 = 1;
pub(crate) const LATE: u64 = 2;

/// Native code called the program from a thread that is not the machine's.
static FOREIGN: AtomicBool = AtomicBool::new(false);

thread_local! {
    static RUNS_MACHINE: Cell<bool> = const { Cell::new(false) };
    /// What the kernel calls this native thread; asking it for every run would be a system call each. 0: not asked yet.
    static KERNEL_ID: Cell<i32> = const { Cell::new(0) };
}

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
    crate::watchdog::start();
}

/// This native thread runs the machine from now on. A forked process calls [`forget_thread`] first.
pub(crate) fn here() {
    if KERNEL_ID.get() == 0 {
        // SAFETY: asks for a number.
        KERNEL_ID.set(unsafe { libc::gettid() });
    }
    MACHINE_THREAD.store(KERNEL_ID.get(), Ordering::Relaxed);
    RUNS_MACHINE.set(true);
}

/// In a forked process this native thread has another number.
pub(crate) fn forget_thread() {
    KERNEL_ID.set(0);
}

/// The native thread that is running a fiber, if one is.
pub(crate) fn running_thread() -> Option<i32> {
    let running = IN_FIBER.load(Ordering::Relaxed);
    running.then(|| MACHINE_THREAD.load(Ordering::Relaxed)).filter(|thread| *thread != 0)
}

/// The native call that is going on, by its number.
pub(crate) fn native_call() -> Option<u64> {
    IN_NATIVE.load(Ordering::Relaxed).then(|| CALLS.load(Ordering::Relaxed))
}

/// Whether the caller runs on a fiber of the machine.
pub(crate) fn is_on_fiber() -> bool {
    RUNS_MACHINE.get() && IN_FIBER.load(Ordering::Relaxed)
}

/// A thread of native code's own calls the program: it must not go on, and the run must not count.
pub(crate) fn stop_foreign_thread() -> ! {
    FOREIGN.store(true, Ordering::SeqCst);
    loop {
        // SAFETY: sleeps until a signal comes.
        unsafe { libc::pause() };
    }
}

/// Whether that has happened in this process.
pub(crate) fn has_foreign_threads() -> bool {
    FOREIGN.load(Ordering::SeqCst)
}

/// Ends the call that the machine's thread is in. Called by the watchdog.
pub(crate) fn strike(thread: i32, why: u64) {
    STRIKE.store(why as i32, Ordering::SeqCst);
    // SAFETY: a signal to a thread of our own, for which there is a handler.
    unsafe { libc::syscall(libc::SYS_tgkill, libc::getpid(), thread, libc::SIGALRM) };
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
    CALLS.store(CALLS.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    IN_NATIVE.store(true, Ordering::Relaxed);
}

pub(crate) fn leave_native() {
    IN_NATIVE.store(false, Ordering::Relaxed);
}

/// Native code calls back; [`resume_native`] when it goes on.
pub(crate) fn pause_native() -> bool {
    IN_NATIVE.swap(false, Ordering::Relaxed)
}

pub(crate) fn resume_native(was_native: bool) {
    if was_native {
        enter_native();
    }
}

/// Whether the interrupted code is about to enter the kernel again or has just come out of it. Not if it writes to our
/// standard output or error: who reads them may take any time.
///
/// # Safety
/// The registers are those of an interrupted thread of this process.
unsafe fn is_blocked(registers: &[i64]) -> bool {
    const SYSCALL: [u8; 2] = [0x0f, 0x05];
    let at = registers[libc::REG_RIP as usize] as usize;
    // SAFETY: code that is being executed, and what stands before it.
    let (next, last) = unsafe { (*(at as *const [u8; 2]), *((at - 2) as *const [u8; 2])) };
    let number = registers[libc::REG_RAX as usize];
    let prints = next == SYSCALL
        && (number == libc::SYS_write || number == libc::SYS_writev)
        && (1..=2).contains(&registers[libc::REG_RDI as usize]);
    (next == SYSCALL || last == SYSCALL) && !prints
}

extern "C" fn handle(signal: i32, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    // SAFETY: called by the kernel with valid pointers, on the alternate stack.
    unsafe {
        let context = &mut *(context as *mut libc::ucontext_t);
        let registers = &mut context.uc_mcontext.gregs;
        let strike = match signal == libc::SIGALRM {
            true => STRIKE.swap(NO_STRIKE, Ordering::SeqCst) as u64,
            false => 0,
        };
        // It may have come back just now.
        if signal == libc::SIGALRM
            && !(strike == LATE && IN_NATIVE.load(Ordering::Relaxed)
                || strike == BLOCKED && is_blocked(registers))
        {
            return;
        }
        let handler = *HANDLER.0.get();
        let sp = registers[libc::REG_RSP as usize] as usize;
        match handler {
            Some(handler)
                if IN_FIBER.load(Ordering::Relaxed) && handler.stack_ptr_in_bounds(sp) =>
            {
                // For an address that cannot exist, the kernel does not say which.
                const SI_KERNEL: i32 = 0x80;
                let unknown = (*info).si_code == SI_KERNEL;
                let address = match unknown {
                    _ if signal == libc::SIGALRM => strike,
                    true => u64::MAX,
                    false => (*info).si_addr() as u64,
                };
                let trapped = Trapped { signal, address };
                let TrapHandlerRegs { rip, rsp, rbp, rdi, rsi } =
                    handler.setup_trap_handler(move || trapped);
                registers[libc::REG_RIP as usize] = rip as i64;
                registers[libc::REG_RSP as usize] = rsp as i64;
                registers[libc::REG_RBP as usize] = rbp as i64;
                registers[libc::REG_RDI as usize] = rdi as i64;
                registers[libc::REG_RSI as usize] = rsi as i64;
            }
            _ if signal == libc::SIGALRM => {}
            // Not the program's doing: let it kill us as it would have.
            _ => {
                libc::signal(signal, libc::SIG_DFL);
                if signal == libc::SIGABRT {
                    libc::raise(signal);
                }
            }
        }
    }
}
