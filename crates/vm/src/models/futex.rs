//! `syscall`, as far as programs and libstdc++'s headers use it: futexes, which `std::atomic::wait` and
//! semaphores of C++20 stand on, asking who one is, and what the C library has a function for: that function is modelled, or
//! called natively. What a program can do without is refused as by an older kernel. All else is inconclusive by its number: what
//! the kernel would do to this process, and nobody here would know of.

use unravel_trace::{EventKind, Op, SiteId, ThreadId};

use super::process::PROCESS;
use super::{Args, Family, Flow, fail_with_errno};
use crate::machine::Machine;
use crate::thread::Need;

pub(crate) const MODELS: Family = &[("syscall", |m, a| match call(m, a) {
    // Its result is a long, whatever the function behind it returns.
    Flow::Return(result) if result == u64::from(u32::MAX) => Flow::Return(u64::MAX),
    flow => flow,
})];

/// Bits of a futex operation that only say whose memory it is and which clock counts.
const FLAGS: i32 = libc::FUTEX_PRIVATE_FLAG | libc::FUTEX_CLOCK_REALTIME;

fn call(m: &mut Machine, a: Args) -> Flow {
    match a.word(0) as i64 {
        libc::SYS_futex => match a.int(2) & !FLAGS {
            libc::FUTEX_WAIT => wait(m, a, false),
            libc::FUTEX_WAIT_BITSET => wait(m, a, true),
            libc::FUTEX_WAKE | libc::FUTEX_WAKE_BITSET => wake(m, a),
            other => m.finish_inconclusive(format!("the futex operation {other} is not supported")),
        },
        libc::SYS_gettid => Flow::Return(PROCESS + m.current as u64),
        libc::SYS_getpid => Flow::Return(PROCESS),
        libc::SYS_tgkill => super::signals::kill_by_number(m, a.int(2), a.int(3), a.site()),
        libc::SYS_getcpu => processor(m, a),
        // io_uring, sandboxes, barriers of the whole machine, where memory lies: programs do without them on older kernels, and here.
        libc::SYS_io_uring_setup
        | libc::SYS_io_uring_enter
        | libc::SYS_io_uring_register
        | libc::SYS_landlock_create_ruleset
        | libc::SYS_landlock_add_rule
        | libc::SYS_landlock_restrict_self
        | libc::SYS_membarrier
        | libc::SYS_rseq
        | libc::SYS_mbind
        | libc::SYS_get_mempolicy
        | libc::SYS_set_mempolicy
        | libc::SYS_pidfd_open
        | libc::SYS_perf_event_open
        | libc::SYS_userfaultfd
        | libc::SYS_io_setup => fail_with_errno(libc::ENOSYS),
        other => match function_of(other) {
            Some(name) => call_function(m, a, name),
            None => m.finish_inconclusive(format!("the system call {other} is not supported")),
        },
    }
}

/// The function of the C library that takes the arguments of a system call and does what it does.
fn function_of(number: i64) -> Option<&'static str> {
    Some(match number {
        libc::SYS_close => "close",
        libc::SYS_read => "read",
        libc::SYS_write => "write",
        libc::SYS_readv => "readv",
        libc::SYS_writev => "writev",
        libc::SYS_pipe => "pipe",
        libc::SYS_pipe2 => "pipe2",
        libc::SYS_eventfd2 => "eventfd",
        libc::SYS_epoll_create1 => "epoll_create1",
        libc::SYS_epoll_ctl => "epoll_ctl",
        libc::SYS_epoll_wait => "epoll_wait",
        libc::SYS_epoll_pwait => "epoll_pwait",
        libc::SYS_poll => "poll",
        libc::SYS_socket => "socket",
        libc::SYS_connect => "connect",
        libc::SYS_bind => "bind",
        libc::SYS_listen => "listen",
        libc::SYS_accept4 => "accept4",
        libc::SYS_dup => "dup",
        libc::SYS_dup2 => "dup2",
        libc::SYS_dup3 => "dup3",
        libc::SYS_sched_yield => "sched_yield",
        libc::SYS_nanosleep => "nanosleep",
        libc::SYS_clock_nanosleep => "clock_nanosleep",
        libc::SYS_clock_gettime => "clock_gettime",
        libc::SYS_gettimeofday => "gettimeofday",
        libc::SYS_time => "time",
        libc::SYS_getrandom => "getrandom",
        libc::SYS_exit_group => "_exit",
        // From here on none is modelled.
        libc::SYS_open => "open",
        libc::SYS_openat => "openat",
        libc::SYS_access => "access",
        libc::SYS_fstat => "fstat",
        libc::SYS_stat => "stat",
        libc::SYS_statx => "statx",
        libc::SYS_lseek => "lseek",
        libc::SYS_unlink => "unlink",
        libc::SYS_copy_file_range => "copy_file_range",
        libc::SYS_mmap => "mmap",
        libc::SYS_munmap => "munmap",
        libc::SYS_mprotect => "mprotect",
        libc::SYS_madvise => "madvise",
        libc::SYS_memfd_create => "memfd_create",
        libc::SYS_getuid => "getuid",
        libc::SYS_geteuid => "geteuid",
        libc::SYS_uname => "uname",
        _ => return None,
    })
}

/// Calls what stands for a system call: a model, or the C library's own.
fn call_function(m: &mut Machine, a: Args, name: &str) -> Flow {
    let own = super::descriptors::are_used(&m.program).then(|| super::descriptors::find(name));
    if let Some(model) = own.flatten().or_else(|| super::find(name)) {
        return model(m, a.behind_first());
    }
    m.call_outside(a.behind_first(), name)
}

/// `getcpu(processor, node)`: every thread is on the first one.
fn processor(m: &mut Machine, a: Args) -> Flow {
    for at in [a.word(1), a.word(2)].into_iter().filter(|at| *at != 0) {
        m.check_sync(at, 4, true);
        // SAFETY: just checked.
        unsafe { (at as *mut u32).write_unaligned(0) };
    }
    Flow::Return(0)
}

/// `futex(address, FUTEX_WAIT, value, timeout)`. The time is relative, absolute for the variant with a bit set.
fn wait(m: &mut Machine, a: Args, absolute: bool) -> Flow {
    let (address, value, time) = (a.word(1), a.word(3) as u32, a.word(4));
    m.check_sync(address, 4, false);
    m.atomic_read_point(address, 4, a.site());
    m.record_read(address, 4, a.site());
    m.shadow_look(address, 4);
    // SAFETY: checked.
    if unsafe { (address as *const u32).read_unaligned() } != value {
        return fail_with_errno(libc::EAGAIN);
    }
    if time != 0 {
        if !m.set_deadline(time) {
            return fail_with_errno(libc::EINVAL);
        }
        if !absolute {
            let now = m.clock.now;
            let thread = m.current_thread();
            thread.deadline = thread.deadline.saturating_add(now);
        }
    }
    let me = ThreadId(m.current as u32);
    m.sync.waiting.entry(address).or_default().push(me);
    let thread = m.current_thread();
    thread.woken_by = None;
    thread.timed = time != 0;
    thread.timed_out = false;
    m.point(Op::Acquire, address, 4, a.site(), Need::Futex(address));
    if let Some(waiting) = m.sync.waiting.get_mut(&address) {
        waiting.retain(|t| *t != me);
    }
    if m.was_interrupted() {
        return fail_with_errno(libc::EINTR);
    }
    record(m, a.site(), "futex wait");
    let thread = m.current_thread();
    // As after a condition wait.
    let was_woken = thread.woken_by.take().is_some();
    let timed_out = std::mem::take(&mut thread.timed_out);
    if was_woken {
        m.made_progress();
    }
    if timed_out { fail_with_errno(libc::ETIMEDOUT) } else { Flow::Return(0) }
}

/// `futex(address, FUTEX_WAKE, count)`: wakes those who have waited longest.
fn wake(m: &mut Machine, a: Args) -> Flow {
    let (address, count) = (a.word(1), a.int(3).max(0) as usize);
    m.point(Op::Signal, address, 4, a.site(), Need::Nothing);
    let by = ThreadId(m.current as u32);
    let waiting = m.sync.waiting.get(&address).map_or(0, Vec::len);
    let woken = waiting.min(count);
    for _ in 0..woken {
        let thread = m.sync.waiting.get_mut(&address).expect("counted above").remove(0);
        m.threads[thread.index()].woken_by = Some(by);
        m.made_progress();
    }
    record(m, a.site(), "futex wake");
    Flow::Return(woken as u64)
}

fn record(m: &mut Machine, site: SiteId, name: &str) {
    if m.recorder.is_on() {
        m.record(site, EventKind::External { name: name.into() });
    }
}
