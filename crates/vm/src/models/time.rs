//! Clocks and sleeping; what time is stands in [`crate::clock`].

use super::process::PROCESS;
use super::timers::CLOCK_TAI;
use super::{Args, Family, Flow, OK, priorities};
use crate::clock::{EPOCH, SECOND};
use crate::machine::Machine;

pub(crate) const MODELS: Family = &[
    ("sleep", |m, a| {
        let left = sleep(m, a, u64::from(a.word(0) as u32).wrapping_mul(SECOND));
        Flow::Return(left.unwrap_or(0).div_ceil(SECOND))
    }),
    ("usleep", |m, a| interrupted(sleep(m, a, u64::from(a.word(0) as u32).wrapping_mul(1000)))),
    ("nanosleep", |m, a| match sleep_until_spec(m, a, 0) {
        0 => OK,
        number => super::fail_with_errno(number),
    }),
    ("clock_nanosleep", |m, a| super::error(sleep_until_spec(m, a, 2))),
    ("thrd_sleep", |m, a| match sleep_until_spec(m, a, 0) {
        0 => OK,
        libc::EINTR => Flow::Return(-1i64 as u64),
        _ => Flow::Return(-2i64 as u64),
    }),
    ("poll", |m, a| poll(m, a, a.int(2), a.word(1))),
    ("select", |m, a| poll(m, a, 0, a.word(0))),
    ("time", time),
    ("gettimeofday", get_time_of_day),
    ("clock_gettime", clock_get_time),
    ("timespec_get", timespec_get),
    ("clock_getcpuclockid", |m, a| match priorities::thread_of(m, a.int(0)) {
        Some(_) => store_clock(m, a, of_processor(PROCESS as i32, CPUCLOCK_PROCESS)),
        None => super::error(libc::ESRCH),
    }),
    ("pthread_getcpuclockid", |m, a| match m.find_thread(a.word(0)) {
        Some(thread) => {
            let number = PROCESS as i32 + thread as i32;
            store_clock(m, a, of_processor(number, CPUCLOCK_THREAD))
        }
        None => super::error(libc::ESRCH),
    }),
    // The time is everybody's, and the program's own is made up.
    ("clock_settime", |_, _| super::fail_with_errno(libc::EPERM)),
    ("settimeofday", |_, _| super::fail_with_errno(libc::EPERM)),
    ("adjtime", |_, _| super::fail_with_errno(libc::EPERM)),
    ("clock", |m, a| Flow::Return((m.read_clock(a.site()) - EPOCH) / 1000)),
    ("times", |m, a| Flow::Return((m.read_clock(a.site()) - EPOCH) / 10_000_000)),
    ("_ZNSt6chrono3_V212steady_clock3nowEv", |m, a| Flow::Return(m.read_clock(a.site()))),
    ("_ZNSt6chrono3_V212system_clock3nowEv", |m, a| Flow::Return(m.read_clock(a.site()))),
    ("llvm.readcyclecounter", |m, a| Flow::Return(m.read_clock(a.site()))),
    ("llvm.x86.rdtsc", |m, a| Flow::Return(m.read_clock(a.site()))),
    ("llvm.x86.rdtscp", |m, a| Flow::Pair(m.read_clock(a.site()), 0)),
];

impl Machine {
    /// The time in the `timespec` at an address, in nanoseconds; none if it is no time. What is before the epoch is over.
    fn time_at(&mut self, spec: u64) -> Option<u64> {
        self.check_sync(spec, 16, false);
        // SAFETY: checked.
        let [seconds, part] = unsafe { (spec as *const [i64; 2]).read_unaligned() };
        let part = u64::try_from(part).ok().filter(|part| *part < SECOND)?;
        let seconds = u64::try_from(seconds).ok();
        Some(seconds.map_or(0, |seconds| seconds.saturating_mul(SECOND).saturating_add(part)))
    }

    /// The wait that the current thread is about to begin runs out at the time in a `timespec`. Whether that is a time.
    #[must_use]
    pub fn set_deadline(&mut self, spec: u64) -> bool {
        let deadline = self.time_at(spec);
        self.current_thread().deadline = deadline.unwrap_or(0);
        deadline.is_some()
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

/// The number of the error, if there is one.
fn sleep_until_spec(m: &mut Machine, a: Args, index: usize) -> i32 {
    // As for the kernel, nothing before the epoch is a moment.
    let absolute = index == 2 && a.int(1) & libc::TIMER_ABSTIME != 0;
    m.check_sync(a.word(index), 16, false);
    // SAFETY: checked.
    let negative = unsafe { (a.word(index) as *const i64).read_unaligned() } < 0;
    let Some(mut time) = m.time_at(a.word(index)).filter(|_| !negative) else {
        return libc::EINVAL;
    };
    if absolute {
        time = time.saturating_sub(m.clock.now);
    }
    let Some(left) = sleep(m, a, time) else { return 0 };
    let rest = a.word(index + 1);
    if !absolute && rest != 0 {
        m.check_sync(rest, 16, true);
        // SAFETY: checked.
        unsafe { (rest as *mut [u64; 2]).write_unaligned([left / SECOND, left % SECOND]) };
    }
    libc::EINTR
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

/// As the kernel numbers clocks of processor time.
fn of_processor(number: i32, kind: i32) -> i32 {
    !number << 3 | kind
}

const CPUCLOCK_PROCESS: i32 = 2;
const CPUCLOCK_THREAD: i32 = 6;

fn store_clock(m: &mut Machine, a: Args, clock: i32) -> Flow {
    m.check_sync(a.word(1), 4, true);
    // SAFETY: checked.
    unsafe { (a.word(1) as *mut i32).write_unaligned(clock) };
    OK
}

fn clock_get_time(m: &mut Machine, a: Args) -> Flow {
    if a.int(0) > CLOCK_TAI {
        return super::fail_with_errno(libc::EINVAL);
    }
    store_time(m, a, a.word(1), 1)
}

fn timespec_get(m: &mut Machine, a: Args) -> Flow {
    store_time(m, a, a.word(0), 1);
    Flow::Return(a.word(1))
}
