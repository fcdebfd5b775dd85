//! Clocks and sleeping; what time is stands in [`crate::clock`].

use super::{Args, Family, Flow, OK};
use crate::clock::{EPOCH, SECOND};
use crate::machine::Machine;

pub(crate) const MODELS: Family = &[
    ("sleep", |m, a| {
        let left = sleep(m, a, u64::from(a.word(0) as u32).wrapping_mul(SECOND));
        Flow::Return(left.unwrap_or(0).div_ceil(SECOND))
    }),
    ("usleep", |m, a| interrupted(sleep(m, a, u64::from(a.word(0) as u32).wrapping_mul(1000)))),
    ("nanosleep", |m, a| interrupted(sleep_until_spec(m, a, 0))),
    ("clock_nanosleep", |m, a| match sleep_until_spec(m, a, 2) {
        Some(_) => super::error(libc::EINTR),
        None => OK,
    }),
    ("thrd_sleep", |m, a| interrupted(sleep_until_spec(m, a, 0))),
    ("poll", |m, a| poll(m, a, a.int(2), a.word(1))),
    ("select", |m, a| poll(m, a, 0, a.word(0))),
    ("time", time),
    ("gettimeofday", get_time_of_day),
    ("clock_gettime", clock_get_time),
    ("timespec_get", timespec_get),
    ("clock", |m, a| Flow::Return((m.read_clock(a.site()) - EPOCH) / 1000)),
    ("times", |m, a| Flow::Return((m.read_clock(a.site()) - EPOCH) / 10_000_000)),
    ("_ZNSt6chrono3_V212steady_clock3nowEv", |m, a| Flow::Return(m.read_clock(a.site()))),
    ("_ZNSt6chrono3_V212system_clock3nowEv", |m, a| Flow::Return(m.read_clock(a.site()))),
    ("llvm.readcyclecounter", |m, a| Flow::Return(m.read_clock(a.site()))),
    ("llvm.x86.rdtsc", |m, a| Flow::Return(m.read_clock(a.site()))),
    ("llvm.x86.rdtscp", |m, a| Flow::Pair(m.read_clock(a.site()), 0)),
];

impl Machine {
    /// The time in the `timespec` at an address, in nanoseconds.
    fn time_at(&mut self, spec: u64) -> u64 {
        self.check_sync(spec, 16, false);
        // SAFETY: checked.
        let (seconds, nanoseconds) = unsafe {
            ((spec as *const u64).read_unaligned(), ((spec + 8) as *const u64).read_unaligned())
        };
        seconds.saturating_mul(SECOND).saturating_add(nanoseconds)
    }

    /// The wait that the current thread is about to begin runs out at the time in a `timespec`.
    pub fn set_deadline(&mut self, spec: u64) {
        let deadline = self.time_at(spec);
        self.current_thread().deadline = deadline;
    }
}

/// What was left if a signal ended the sleep.
fn sleep(m: &mut Machine, a: Args, nanoseconds: u64) -> Option<u64> {
    let until = m.clock.now.saturating_add(nanoseconds);
    m.test_cancel();
    m.sleep(nanoseconds, a.site());
    m.test_cancel();
    m.was_interrupted().then(|| until.saturating_sub(m.clock.now))
}

/// The result of a sleep that says by `errno` that it was interrupted.
fn interrupted(left: Option<u64>) -> Flow {
    if left.is_some() { super::fail_with_errno(libc::EINTR) } else { OK }
}

fn sleep_until_spec(m: &mut Machine, a: Args, index: usize) -> Option<u64> {
    let mut time = m.time_at(a.word(index));
    let absolute = index == 2 && a.int(1) & libc::TIMER_ABSTIME != 0;
    if absolute {
        time = time.saturating_sub(m.clock.now);
    }
    let left = sleep(m, a, time);
    let rest = a.word(index + 1);
    if let (Some(left), false, true) = (left, absolute, rest != 0) {
        m.check_sync(rest, 16, true);
        // SAFETY: checked.
        unsafe { (rest as *mut [u64; 2]).write_unaligned([left / SECOND, left % SECOND]) };
    }
    left
}

/// With nothing to wait for, `poll` and `select` are ways to sleep; otherwise they are native.
fn poll(m: &mut Machine, a: Args, timeout: i32, descriptors: u64) -> Flow {
    if descriptors == 0 {
        return interrupted(sleep(m, a, timeout.max(0) as u64 * 1_000_000));
    }
    m.finish_inconclusive(
        "the program waits for descriptors (poll, select), which is not supported".into(),
    )
}

fn time(m: &mut Machine, a: Args) -> Flow {
    let now = m.read_clock(a.site()) / SECOND;
    if a.word(0) != 0 {
        m.check_sync(a.word(0), 8, true);
        // SAFETY: checked.
        unsafe { *(a.word(0) as *mut u64) = now };
    }
    Flow::Return(now)
}

fn store_time(m: &mut Machine, a: Args, at: u64, unit: u64) -> Flow {
    let now = m.read_clock(a.site());
    m.check_sync(at, 16, true);
    // SAFETY: checked.
    unsafe {
        *(at as *mut u64) = now / SECOND;
        *((at + 8) as *mut u64) = now % SECOND / unit;
    }
    OK
}

fn get_time_of_day(m: &mut Machine, a: Args) -> Flow {
    if a.word(0) == 0 { OK } else { store_time(m, a, a.word(0), 1000) }
}

fn clock_get_time(m: &mut Machine, a: Args) -> Flow {
    store_time(m, a, a.word(1), 1)
}

fn timespec_get(m: &mut Machine, a: Args) -> Flow {
    store_time(m, a, a.word(0), 1);
    Flow::Return(a.word(1))
}
