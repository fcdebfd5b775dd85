//! A native thread beside the machine's, which looks for native calls that do not come back.
//!
//! *Blocked* is a machine's thread that sleeps in the kernel and has used no processor for a while, in the middle of a fiber:
//! nobody wakes it, since all other threads of the program are fibers of the same native thread, and what comes from outside
//! is no part of a run. *Late* is one native call that computes for very long. Either ends by a signal to the machine's thread
//! ([`guard::strike`]), and the run is inconclusive.
//!
//! A timer would do without a thread, but its signal ends system calls by `EINTR`, which the program would see. Nothing here
//! allocates or locks: the process forks while this thread runs. A forked process starts its own.
//!
//! Errs towards giving up: a call that would have come back later, because somebody outside answers, is given up too.

use std::io::Write;
use std::sync::atomic::{AtomicI32, Ordering};
use std::time::Duration;

use crate::budgets::{BLOCKED_TICKS, LATE_TICKS, NATIVE_TICK};
use crate::guard;

/// Processor time below which a thread has done nothing.
const NOTHING: u64 = 1_000_000;

/// Starts the watchdog of this process, once.
pub(crate) fn start() {
    static WATCHED: AtomicI32 = AtomicI32::new(0);
    // SAFETY: asks for a number.
    let process = unsafe { libc::getpid() };
    if WATCHED.swap(process, Ordering::SeqCst) == process {
        return;
    }
    // SAFETY: sets of signals of our own. The new thread inherits that it takes none: they are for others.
    unsafe {
        let (mut all, mut before) = (std::mem::zeroed(), std::mem::zeroed());
        libc::sigfillset(&mut all);
        libc::pthread_sigmask(libc::SIG_SETMASK, &all, &mut before);
        let thread = std::thread::Builder::new().name("watchdog".into()).stack_size(64 << 10);
        // Without it a call that blocks is not noticed, but nothing else is wrong.
        let _ = thread.spawn(|| Watch::default().go_on());
        libc::pthread_sigmask(libc::SIG_SETMASK, &before, std::ptr::null_mut());
    }
}

/// What was seen at the last tick.
#[derive(Default)]
struct Watch {
    used: u64,
    call: Option<u64>,
    /// Ticks in which the machine's thread did nothing.
    quiet: u32,
    /// Ticks in which it was in the same native call.
    same: u32,
}

impl Watch {
    fn go_on(&mut self) {
        loop {
            std::thread::sleep(Duration::from_millis(NATIVE_TICK));
            match guard::running_thread() {
                Some(thread) => self.look(thread),
                None => *self = Watch::default(),
            }
        }
    }

    fn look(&mut self, thread: i32) {
        let used = processor_time(thread);
        let idle = used.is_some_and(|used| used.saturating_sub(self.used) < NOTHING);
        self.quiet = if idle && sleeps(thread) { self.quiet + 1 } else { 0 };
        self.used = used.unwrap_or(0);
        let call = guard::native_call();
        self.same = if call.is_some() && call == self.call { self.same + 1 } else { 0 };
        self.call = call;
        if self.quiet >= BLOCKED_TICKS {
            self.quiet = 0;
            guard::strike(thread, guard::BLOCKED);
        } else if self.same >= LATE_TICKS {
            self.same = 0;
            guard::strike(thread, guard::LATE);
        }
    }
}

/// Nanoseconds that a thread has run.
fn processor_time(thread: i32) -> Option<u64> {
    /// How the kernel numbers the clocks of threads: that of the scheduler, of one thread.
    const OF_THREAD: i32 = 2 | 4;
    let clock = !thread << 3 | OF_THREAD;
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: fills the time.
    let failed = unsafe { libc::clock_gettime(clock, &mut time) } != 0;
    (!failed).then(|| time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64)
}

/// Whether a thread waits in the kernel, and not for a processor. Yes where nobody can tell.
fn sleeps(thread: i32) -> bool {
    let mut path = [0u8; 64];
    let mut bytes = [0u8; 256];
    let written = write!(&mut path[..63], "/proc/self/task/{thread}/stat");
    // SAFETY: the path ends with a zero; what is read fits.
    let read = unsafe {
        let file = libc::open(path.as_ptr().cast(), libc::O_RDONLY | libc::O_CLOEXEC);
        if written.is_err() || file < 0 {
            return true;
        }
        let read = libc::read(file, bytes.as_mut_ptr().cast(), bytes.len());
        libc::close(file);
        read
    };
    let text = &bytes[..read.max(0) as usize];
    let name_ends = text.iter().rposition(|byte| *byte == b')');
    name_ends.and_then(|end| text.get(end + 2)).is_none_or(|state| *state != b'R')
}
