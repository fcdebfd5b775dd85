//! The C library and the kernel, as far as they are needed. Declared here because the runtime is compiled without Cargo's help.

use core::arch::{asm, global_asm};
use core::ffi::{c_char, c_int, c_long, c_void};
use core::sync::atomic::{AtomicUsize, Ordering};

pub const PROT_NONE: c_int = 0;
pub const PROT_READ_WRITE: c_int = 3;
pub const MAP_SHARED: c_int = 1;
pub const MAP_PRIVATE: c_int = 2;
pub const MAP_FIXED: c_int = 0x10;
pub const MAP_ANONYMOUS: c_int = 0x20;
pub const MAP_NORESERVE: c_int = 0x4000;
pub const MAP_POPULATE: c_int = 0x8000;
pub const MAP_FAILED: *mut c_void = usize::MAX as *mut c_void;
pub const O_RDWR: c_int = 2;
pub const O_CREAT: c_int = 0o100;
pub const O_EXCL: c_int = 0o200;
pub const O_CLOEXEC: c_int = 0o2000000;
pub const EEXIST: c_int = 17;
pub const ETIMEDOUT: c_int = 110;
pub const EOWNERDEAD: c_int = 130;
/// `thrd_timedout`, which no error number of a wait is (4 is EINTR).
pub const THRD_TIMED_OUT: c_int = 4;
pub const SYS_GETTID: c_long = 186;
const RTLD_NEXT: *mut c_void = usize::MAX as *mut c_void;

pub const SIGQUIT: c_int = 3;
pub const SIGILL: c_int = 4;
pub const SIGABRT: c_int = 6;
pub const SIGBUS: c_int = 7;
pub const SIGFPE: c_int = 8;
pub const SIGSEGV: c_int = 11;
pub const SIGNALS: usize = 65;
pub const SA_SIGINFO: c_int = 4;
pub const SA_ONSTACK: c_int = 0x0800_0000;
pub const SA_RESTART: c_int = 0x1000_0000;
pub const SA_NODEFER: c_int = 0x4000_0000;
pub const SA_RESETHAND: c_int = 0x8000_0000_u32 as c_int;
pub const SIG_DFL: usize = 0;
pub const SIG_IGN: usize = 1;
pub const SIG_ERR: usize = usize::MAX;

/// `struct sigaction` of glibc on 64-bit x86.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct SigAction {
    pub handler: usize,
    pub mask: [u64; 16],
    pub flags: c_int,
    pub restorer: usize,
}

impl SigAction {
    pub const DEFAULT: SigAction =
        SigAction { handler: SIG_DFL, mask: [0; 16], flags: 0, restorer: 0 };
}

/// The beginning of `siginfo_t`.
#[repr(C)]
pub struct SigInfo {
    pub signal: c_int,
    pub errno: c_int,
    pub code: c_int,
    pub pad: c_int,
    pub address: u64,
}

/// The beginning of `ucontext_t`: the registers in the order of `REG_R8` and so on.
#[repr(C)]
pub struct Context {
    pub flags: u64,
    pub link: u64,
    pub stack: [u64; 3],
    pub registers: [u64; 23],
}

pub const REG_RIP: usize = 16;

#[repr(C)]
pub struct AlternateStack {
    pub start: *mut c_void,
    pub flags: c_int,
    pub size: usize,
}

#[repr(C)]
pub struct ImageInfo {
    pub base: u64,
    pub name: *const c_char,
}

#[repr(C)]
pub struct TimerSpec {
    pub interval: [i64; 2],
    pub value: [i64; 2],
}

#[repr(C)]
pub struct SigEvent {
    pub value: u64,
    pub signal: c_int,
    pub notify: c_int,
    pub rest: [u64; 6],
}

pub type Start = extern "C" fn(*mut c_void) -> *mut c_void;

unsafe extern "C" {
    pub fn mmap(
        at: *mut c_void,
        n: usize,
        prot: c_int,
        flags: c_int,
        fd: c_int,
        off: i64,
    ) -> *mut c_void;
    pub fn munmap(at: *mut c_void, n: usize) -> c_int;
    pub fn open(path: *const c_char, flags: c_int, ...) -> c_int;
    pub fn close(fd: c_int) -> c_int;
    pub fn pwrite(fd: c_int, from: *const c_void, n: usize, off: i64) -> isize;
    pub fn posix_fallocate(fd: c_int, from: i64, n: i64) -> c_int;
    pub fn sched_yield() -> c_int;
    pub fn write(fd: c_int, from: *const c_void, n: usize) -> isize;
    pub fn fcntl(fd: c_int, what: c_int, ...) -> c_int;
    pub fn getpid() -> c_int;
    pub fn syscall(number: c_long, ...) -> c_long;
    pub fn getauxval(kind: u64) -> u64;
    pub fn strncmp(a: *const c_char, b: *const c_char, n: usize) -> c_int;
    pub fn getcwd(to: *mut c_char, n: usize) -> *mut c_char;
    pub fn strlen(text: *const c_char) -> usize;
    pub fn strtoul(text: *const c_char, end: *mut *mut c_char, base: c_int) -> u64;
    pub fn memset(at: *mut c_void, byte: c_int, n: usize) -> *mut c_void;
    pub fn memcpy(to: *mut c_void, from: *const c_void, n: usize) -> *mut c_void;
    pub fn malloc(n: usize) -> *mut c_void;
    pub fn free(at: *mut c_void);
    pub fn pthread_self() -> u64;
    pub fn pthread_key_create(key: *mut u32, gone: Option<extern "C" fn(*mut c_void)>) -> c_int;
    pub fn pthread_setspecific(key: u32, value: *const c_void) -> c_int;
    pub fn pthread_atfork(
        before: Option<extern "C" fn()>,
        parent: Option<extern "C" fn()>,
        child: Option<extern "C" fn()>,
    ) -> c_int;
    pub fn on_exit(f: extern "C" fn(c_int, *mut c_void), with: *mut c_void) -> c_int;
    pub fn raise(signal: c_int) -> c_int;
    pub fn sigaltstack(new: *const AlternateStack, old: *mut AlternateStack) -> c_int;
    pub fn timer_create(clock: c_int, event: *mut SigEvent, timer: *mut usize) -> c_int;
    pub fn timer_settime(
        timer: usize,
        flags: c_int,
        new: *const TimerSpec,
        old: *mut TimerSpec,
    ) -> c_int;
    pub fn __errno_location() -> *mut c_int;
    pub fn dlsym(handle: *mut c_void, name: *const c_char) -> *mut c_void;
    pub fn dlvsym(handle: *mut c_void, name: *const c_char, version: *const c_char) -> *mut c_void;
    pub fn dl_iterate_phdr(
        each: extern "C" fn(*const ImageInfo, usize, *mut c_void) -> c_int,
        with: *mut c_void,
    ) -> c_int;
    pub fn _Unwind_Backtrace(
        each: extern "C" fn(*mut c_void, *mut c_void) -> c_int,
        with: *mut c_void,
    ) -> c_int;
    pub fn _Unwind_GetIPInfo(context: *mut c_void, before: *mut c_int) -> u64;
    pub fn _Unwind_GetRegionStart(context: *mut c_void) -> u64;
}

// The log's pointer, which recorded code uses (by the second name where it knows the offset), and the thread's stream, which only we use.
global_asm!(
    ".section .tbss,\"awT\",@nobits",
    ".balign 8",
    ".globl __unravel_p",
    ".type __unravel_p,@object",
    ".size __unravel_p,8",
    ".globl __unravel_here",
    ".hidden __unravel_here",
    ".type __unravel_here,@object",
    ".size __unravel_here,8",
    "__unravel_here:",
    "__unravel_p: .zero 8",
    ".globl __unravel_stream",
    ".hidden __unravel_stream",
    ".type __unravel_stream,@object",
    ".size __unravel_stream,8",
    "__unravel_stream: .zero 8",
    ".globl __unravel_records",
    ".hidden __unravel_records",
    ".type __unravel_records,@object",
    ".size __unravel_records,8",
    "__unravel_records: .zero 8",
    ".section .tdata,\"awT\",@progbits",
    ".balign 8",
    ".globl __unravel_av_me",
    ".hidden __unravel_av_me",
    ".type __unravel_av_me,@object",
    ".size __unravel_av_me,8",
    "__unravel_av_me: .quad __unravel_av_nobody",
    ".text",
);

macro_rules! thread_local {
    ($get:ident, $set:ident, $name:literal) => {
        #[inline(always)]
        pub fn $get() -> usize {
            let value: usize;
            // SAFETY: reads a thread-local variable that is defined above.
            unsafe {
                asm!(
                    concat!("mov {0}, qword ptr [rip + ", $name, "@GOTTPOFF]"),
                    "mov {0}, qword ptr fs:[{0}]",
                    out(reg) value,
                    options(nostack, preserves_flags, readonly)
                );
            }
            value
        }

        thread_local!($set, $name);
    };
    ($set:ident, $name:literal) => {
        #[inline(always)]
        pub fn $set(value: usize) {
            // SAFETY: writes a thread-local variable that is defined above.
            unsafe {
                asm!(
                    concat!("mov {0}, qword ptr [rip + ", $name, "@GOTTPOFF]"),
                    "mov qword ptr fs:[{0}], {1}",
                    out(reg) _,
                    in(reg) value,
                    options(nostack, preserves_flags)
                );
            }
        }
    };
}

thread_local!(log_pointer, set_log_pointer, "__unravel_here");
thread_local!(stream, set_stream, "__unravel_stream");
// How far `hot.rs` may write records.
thread_local!(set_records, "__unravel_records");
// The thread's slot for access vectors (`elements.rs`), which the program's own code reads.
thread_local!(av_slot, set_av_slot, "__unravel_av_me");

const SYS_MEMBARRIER: c_long = 324;

/// Asks the kernel for [`barrier_in_all_threads`]; false if it has none.
pub fn ask_for_barriers() -> bool {
    const REGISTER: c_long = 1 << 4;
    // SAFETY: asks the kernel.
    unsafe { syscall(SYS_MEMBARRIER, REGISTER, 0, 0) == 0 }
}

/// Every thread of the process that runs now passes a full barrier before this returns; the others do when they run again.
pub fn barrier_in_all_threads() -> bool {
    const EXPEDITED: c_long = 1 << 3;
    // SAFETY: asks the kernel.
    unsafe { syscall(SYS_MEMBARRIER, EXPEDITED, 0, 0) == 0 }
}

/// A function of the C library behind one that we define.
pub struct Real {
    name: &'static core::ffi::CStr,
    version: Option<&'static core::ffi::CStr>,
    pub address: AtomicUsize,
}

impl Real {
    pub const fn new(name: &'static core::ffi::CStr) -> Real {
        Real { name, version: None, address: AtomicUsize::new(0) }
    }

    /// The C library has two of this name.
    pub const fn versioned(name: &'static core::ffi::CStr) -> Real {
        Real { name, version: Some(c"GLIBC_2.3.2"), address: AtomicUsize::new(0) }
    }

    #[inline(always)]
    pub fn get(&self) -> usize {
        let known = self.address.load(Ordering::Relaxed);
        if known != 0 { known } else { self.find() }
    }

    #[cold]
    fn find(&self) -> usize {
        if !self.is_there() {
            die(c"unravel: a function of the C library is missing: ", self.name);
        }
        self.address.load(Ordering::Relaxed)
    }

    /// Whether there is such a function; its address is known then.
    pub fn is_there(&self) -> bool {
        // SAFETY: names end with a zero.
        let found = unsafe {
            let versioned = match self.version {
                Some(version) => dlvsym(RTLD_NEXT, self.name.as_ptr(), version.as_ptr()) as usize,
                None => 0,
            };
            match versioned {
                0 => dlsym(RTLD_NEXT, self.name.as_ptr()) as usize,
                found => found,
            }
        };
        self.address.store(found, Ordering::Relaxed);
        found != 0
    }
}

/// Finds a function wherever it is defined first; 0 if nowhere.
pub fn find(name: &'static core::ffi::CStr) -> usize {
    // SAFETY: the name ends with a zero.
    unsafe { dlsym(core::ptr::null_mut(), name.as_ptr()) as usize }
}

pub fn say(text: *const c_char) {
    // SAFETY: the text ends with a zero.
    unsafe { write(2, text.cast(), strlen(text)) };
}

pub fn die(text: &core::ffi::CStr, more: &core::ffi::CStr) -> ! {
    say(text.as_ptr());
    say(more.as_ptr());
    say(c"\n".as_ptr());
    const EXIT_GROUP: c_long = 231;
    loop {
        // SAFETY: ends the process.
        unsafe { syscall(EXIT_GROUP, 127) };
    }
}

pub fn errno() -> c_int {
    // SAFETY: the C library's own.
    unsafe { *__errno_location() }
}

pub fn set_errno(value: c_int) {
    // SAFETY: as above.
    unsafe { *__errno_location() = value };
}

pub fn thread_id() -> u32 {
    // SAFETY: asks the kernel.
    unsafe { syscall(SYS_GETTID) as u32 }
}

/// Memory of our own; null if there is none.
pub fn pages(bytes: usize) -> *mut u8 {
    let flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    // SAFETY: a new mapping.
    let at = unsafe { mmap(core::ptr::null_mut(), bytes, PROT_READ_WRITE, flags, -1, 0) };
    if at == MAP_FAILED { core::ptr::null_mut() } else { at.cast() }
}
