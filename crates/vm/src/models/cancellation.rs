//! How threads leave before their function returns: `pthread_exit`, cancellation.
//!
//! Either takes the thread apart frame by frame, as glibc does by an exception that is nobody's
//! ([`super::exception`]): cleanup handlers of C (`pthread_cleanup_push`), destructors and `catch (...)` of C++ run, innermost first.
//!
//! Cancellation is deferred to cancellation points, or, of a thread that asks for it (`PTHREAD_CANCEL_ASYNCHRONOUS`), to its
//! next point: that a thread stops between two events nobody else can see. A thread that has an event pending executes it
//! first, unless it is blocked; real ones need not. A thread that leaves out of a function that the library called, other than
//! by returning from a model, skips the rest of that library function.

use unravel_trace::{EventKind, Note, Op, ThreadId};

use super::{Args, Family, Flow, OK, error, exception};
use crate::machine::{Machine, State};
use crate::thread::{Need, Thrown};

pub(crate) const MODELS: Family = &[
    ("pthread_exit", exit_thread),
    ("thrd_exit", exit_thread),
    ("pthread_cancel", cancel),
    ("pthread_testcancel", |m, _| {
        m.test_cancel();
        OK
    }),
    ("pthread_setcancelstate", set_cancel_state),
    ("pthread_setcanceltype", set_cancel_type),
    ("__pthread_register_cancel", register_cleanup),
    ("__pthread_unregister_cancel", unregister_cleanup),
    ("__pthread_unwind_next", unwind_next),
];

impl State {
    /// Whether a blocked thread is at a cancellation point.
    pub fn is_cancellable(&self, index: usize) -> bool {
        let thread = &self.threads[index];
        !thread.cancellation.disabled
            && match thread.need {
                Need::Wake { mutex, .. } => self.sync.mutex_is_free(mutex),
                Need::Ended(_)
                | Need::Semaphore(_)
                | Need::Signal(_)
                | Need::Descriptor
                | Need::Never => true,
                // That of a timer sleeps too, and has no name that anybody could cancel.
                Need::Time => true,
                _ => thread.cancellation.asynchronous,
            }
    }
}

/// Functions of the C library that are called natively and where POSIX has a thread be cancelled, or lets it: those that
/// read and write, which streams do when they please.
pub(crate) fn is_cancellation_point(name: &str) -> bool {
    const NAMES: &[&str] = &[
        "accept",
        "accept4",
        "close",
        "connect",
        "creat",
        "dprintf",
        "fclose",
        "fdatasync",
        "fflush",
        "fgetc",
        "fgets",
        "fopen",
        "fopen64",
        "fprintf",
        "fputc",
        "fputs",
        "fread",
        "fscanf",
        "fsync",
        "fwrite",
        "getc",
        "getchar",
        "getdelim",
        "getline",
        "lockf",
        "msync",
        "open",
        "open64",
        "openat",
        "openat64",
        "perror",
        "pread",
        "pread64",
        "printf",
        "putc",
        "putchar",
        "puts",
        "pwrite",
        "pwrite64",
        "read",
        "readv",
        "recv",
        "recvfrom",
        "recvmsg",
        "scanf",
        "send",
        "sendmsg",
        "sendto",
        "syslog",
        "system",
        "tcdrain",
        "vdprintf",
        "vfprintf",
        "vprintf",
        "write",
        "writev",
        "__printf_chk",
        "__fprintf_chk",
        "__vprintf_chk",
        "__vfprintf_chk",
    ];
    NAMES.contains(&name)
}

fn cancel(m: &mut Machine, a: Args) -> Flow {
    let Some(target) = m.find_thread(a.word(0)) else { return error(libc::ESRCH) };
    m.point_on(Op::Cancel, ThreadId(target as u32), a.site());
    m.threads[target].cancellation.requested = true;
    m.made_progress();
    m.record(a.site(), EventKind::Cancel { target: ThreadId(target as u32) });
    m.test_asynchronous_cancel();
    OK
}

impl Machine {
    pub fn cancel_is_due(&self) -> bool {
        let cancellation = &self.threads[self.current].cancellation;
        cancellation.requested && !cancellation.disabled
    }

    /// A cancellation point: does not return if the thread was cancelled. What is to be done runs on a fresh interpreter
    /// above this one, whose frames are never returned to.
    pub fn test_cancel(&mut self) {
        if !self.cancel_is_due() {
            return;
        }
        self.current_thread().result = u64::MAX; // PTHREAD_CANCELED
        self.shadow_thread_result(None);
        self.begin_to_leave();
        self.leave_by_force()
    }

    /// The same for a thread that may be cancelled anywhere.
    pub fn test_asynchronous_cancel(&mut self) {
        if self.threads[self.current].cancellation.asynchronous {
            self.test_cancel();
        }
    }

    /// From now on the current thread is taken apart.
    fn begin_to_leave(&mut self) {
        let me = self.current;
        let thread = self.current_thread();
        thread.cancellation.disabled = true;
        thread.thrown = Thrown { exception: exception::forced(me), selector: 0 };
    }

    /// The innermost cleanup handler of C, if it was pushed by the function of the `depth`th frame: jumps there.
    pub fn land_in_cleanup(&mut self, depth: usize) -> bool {
        let Some(&buffer) = self.threads[self.current].cancellation.cleanup.last() else {
            return false;
        };
        if self.jumps.get(&buffer).is_some_and(|jump| jump.depth() != depth) {
            return false;
        }
        self.current_thread().cancellation.cleanup.pop();
        matches!(super::jump::long_jump(self, buffer, 1), Flow::Jump)
    }

    /// A thread that ends within an initialiser leaves it to the next one.
    pub fn give_up_onces(&mut self) {
        let me = self.current as u32;
        let running = self.once_running.iter();
        let mut given_up: Vec<u64> =
            running.filter(|(_, thread)| **thread == me).map(|(address, _)| *address).collect();
        given_up.sort_unstable();
        let site = self.threads[self.current].pending.site;
        for address in given_up {
            self.end_once(address, site, || {});
        }
    }
}

fn exit_thread(m: &mut Machine, a: Args) -> Flow {
    let shadow = m.shadow_argument(a, 0);
    m.shadow_thread_result(shadow);
    m.current_thread().result = a.word(0);
    m.begin_to_leave();
    Flow::Throw
}

fn register_cleanup(m: &mut Machine, a: Args) -> Flow {
    m.current_thread().cancellation.cleanup.push(a.word(0));
    OK
}

fn unregister_cleanup(m: &mut Machine, _: Args) -> Flow {
    m.current_thread().cancellation.cleanup.pop();
    OK
}

/// A cleanup handler of C is done.
fn unwind_next(m: &mut Machine, _: Args) -> Flow {
    m.begin_to_leave();
    Flow::Throw
}

fn set_cancel_state(m: &mut Machine, a: Args) -> Flow {
    if !matches!(a.int(0), 0 | 1) {
        return error(libc::EINVAL);
    }
    let cancellation = &mut m.current_thread().cancellation;
    let before = u32::from(cancellation.disabled);
    cancellation.disabled = a.int(0) == 1; // PTHREAD_CANCEL_DISABLE
    store_old(m, a.word(1), before);
    m.test_asynchronous_cancel();
    OK
}

fn set_cancel_type(m: &mut Machine, a: Args) -> Flow {
    if !matches!(a.int(0), 0 | 1) {
        return error(libc::EINVAL);
    }
    let cancellation = &mut m.current_thread().cancellation;
    let before = u32::from(cancellation.asynchronous);
    cancellation.asynchronous = a.int(0) == 1; // PTHREAD_CANCEL_ASYNCHRONOUS
    store_old(m, a.word(1), before);
    if a.int(0) == 1 {
        m.note(Note::CancellationDeferred);
        m.test_asynchronous_cancel();
    }
    OK
}

fn store_old(m: &mut Machine, at: u64, value: u32) {
    if at != 0 {
        m.check_sync(at, 4, true);
        // SAFETY: checked.
        unsafe { (at as *mut u32).write_unaligned(value) };
    }
}
