//! Time and randomness: a virtual clock that advances by sleeping and by being read, and generators
//! that start the same in every run.

use unravel_trace::Op;

use super::{Args, Family, Flow, OK};
use crate::machine::Machine;
use crate::thread::Need;

pub(crate) const MODELS: Family = &[
    ("sleep", |m, a| sleep(m, a, a.word(0).wrapping_mul(SECOND))),
    ("usleep", |m, a| sleep(m, a, a.word(0).wrapping_mul(1000))),
    ("nanosleep", |m, a| sleep_until_spec(m, a, 0)),
    ("clock_nanosleep", |m, a| sleep_until_spec(m, a, 2)),
    ("thrd_sleep", |m, a| sleep_until_spec(m, a, 0)),
    ("poll", |m, a| poll(m, a, a.int(2), a.word(1))),
    ("select", |m, a| poll(m, a, 0, a.word(0))),
    ("time", time),
    ("gettimeofday", get_time_of_day),
    ("clock_gettime", clock_get_time),
    ("timespec_get", timespec_get),
    ("clock", |m, _| Flow::Return((m.read_clock() - EPOCH) / 1000)),
    ("times", |m, _| Flow::Return((m.read_clock() - EPOCH) / 10_000_000)),
    ("_ZNSt6chrono3_V212steady_clock3nowEv", |m, _| Flow::Return(m.read_clock())),
    ("_ZNSt6chrono3_V212system_clock3nowEv", |m, _| Flow::Return(m.read_clock())),
    ("llvm.readcyclecounter", |m, _| Flow::Return(m.read_clock())),
    ("rand", rand),
    ("random", rand),
    ("srand", seed),
    ("srandom", seed),
    ("rand_r", rand_r),
    ("drand48", |m, a| Flow::Return(((step48(m, a) as f64) / (1u64 << 48) as f64).to_bits())),
    ("lrand48", |m, a| Flow::Return(step48(m, a) >> 17)),
    ("mrand48", |m, a| Flow::Return((step48(m, a) as i64) as u64 >> 16)),
    ("srand48", |m, a| {
        m.random.state48 = (a.word(0) & 0xffff_ffff) << 16 | 0x330e;
        OK
    }),
];

const SECOND: u64 = 1_000_000_000;
/// The virtual clock starts here: 2020-01-01.
pub(crate) const EPOCH: u64 = 1_577_836_800 * SECOND;
/// What reading the clock takes.
const READ_TAKES: u64 = 1000;

impl Machine {
    pub fn read_clock(&mut self) -> u64 {
        self.clock += READ_TAKES;
        self.clock
    }
}

/// Sleeping promises nothing about order, so it is no more than a hint to let others run.
fn sleep(m: &mut Machine, a: Args, nanoseconds: u64) -> Flow {
    m.test_cancel();
    m.clock = m.clock.saturating_add(nanoseconds.min(3600 * SECOND));
    if m.alive > 1 {
        m.yield_point(a.site());
    }
    OK
}

fn sleep_until_spec(m: &mut Machine, a: Args, index: usize) -> Flow {
    let spec = a.word(index);
    m.check_sync(spec, 16, false);
    // SAFETY: checked.
    let (seconds, nanoseconds) = unsafe { (*(spec as *const u64), *((spec + 8) as *const u64)) };
    let mut time = seconds.wrapping_mul(SECOND).wrapping_add(nanoseconds);
    if index == 2 && a.int(1) & libc::TIMER_ABSTIME != 0 {
        time = time.saturating_sub(m.clock);
    }
    sleep(m, a, time)
}

/// With nothing to wait for, `poll` and `select` are ways to sleep; otherwise they are native.
fn poll(m: &mut Machine, a: Args, timeout: i32, descriptors: u64) -> Flow {
    if descriptors == 0 {
        return sleep(m, a, timeout.max(0) as u64 * 1_000_000);
    }
    m.finish_inconclusive(
        "the program waits for descriptors (poll, select), which is not supported".into(),
    )
}

fn time(m: &mut Machine, a: Args) -> Flow {
    let now = m.read_clock() / SECOND;
    if a.word(0) != 0 {
        m.check_sync(a.word(0), 8, true);
        // SAFETY: checked.
        unsafe { *(a.word(0) as *mut u64) = now };
    }
    Flow::Return(now)
}

fn store_time(m: &mut Machine, at: u64, unit: u64) -> Flow {
    let now = m.read_clock();
    m.check_sync(at, 16, true);
    // SAFETY: checked.
    unsafe {
        *(at as *mut u64) = now / SECOND;
        *((at + 8) as *mut u64) = now % SECOND / unit;
    }
    OK
}

fn get_time_of_day(m: &mut Machine, a: Args) -> Flow {
    if a.word(0) == 0 { OK } else { store_time(m, a.word(0), 1000) }
}

fn clock_get_time(m: &mut Machine, a: Args) -> Flow {
    store_time(m, a.word(1), 1)
}

fn timespec_get(m: &mut Machine, a: Args) -> Flow {
    store_time(m, a.word(0), 1);
    Flow::Return(a.word(1))
}

/// glibc's `rand`: an additive feedback generator, so that programs see the numbers they see natively.
#[derive(Clone, Debug)]
pub(crate) struct Random {
    state: [u32; 34],
    front: usize,
    pub state48: u64,
}

impl Default for Random {
    fn default() -> Self {
        // Every run starts with it, so it is computed once.
        static SEEDED: std::sync::OnceLock<Random> = std::sync::OnceLock::new();
        let seeded = SEEDED.get_or_init(|| {
            let mut random = Random { state: [0; 34], front: 0, state48: 0x1234_abcd_330e };
            random.seed(1);
            random
        });
        seeded.clone()
    }
}

impl Random {
    fn seed(&mut self, seed: u32) {
        let mut state = [0i64; 34];
        state[0] = i64::from(if seed == 0 { 1 } else { seed as i32 });
        for i in 1..31 {
            state[i] = 16807 * (state[i - 1] % 127_773) - 2836 * (state[i - 1] / 127_773);
            if state[i] < 0 {
                state[i] += 0x7fff_ffff;
            }
        }
        for (to, from) in self.state.iter_mut().zip(&state[..31]) {
            *to = *from as u32;
        }
        for i in 31..34 {
            self.state[i] = self.state[i - 31];
        }
        self.front = 34;
        for _ in 0..310 {
            self.next();
        }
    }

    fn next(&mut self) -> u32 {
        // The state is a ring of 34 values of which the last 31 matter.
        let n = self.state.len();
        let value = self.state[(self.front + n - 31) % n]
            .wrapping_add(self.state[(self.front + n - 3) % n]);
        self.state[self.front % n] = value;
        self.front = self.front % n + 1;
        value >> 1
    }
}

/// The generator's state is shared by all threads: using it is an event.
fn touch_random(m: &mut Machine, a: Args) {
    if m.alive > 1 {
        m.point(Op::External, 0, 0, a.site(), Need::Nothing);
        m.record(a.site(), unravel_trace::EventKind::External { name: "rand".into() });
    }
}

fn rand(m: &mut Machine, a: Args) -> Flow {
    touch_random(m, a);
    Flow::Return(u64::from(m.random.next()))
}

fn seed(m: &mut Machine, a: Args) -> Flow {
    touch_random(m, a);
    m.random.seed(a.word(0) as u32);
    OK
}

/// Its state is the caller's: read and written as plain memory.
fn rand_r(m: &mut Machine, a: Args) -> Flow {
    m.check_sync(a.word(0), 4, true);
    // SAFETY: checked; glibc's own function on the program's memory.
    unsafe extern "C" {
        fn rand_r(seed: *mut u32) -> i32;
    }
    Flow::Return(unsafe { rand_r(a.word(0) as *mut u32) } as u32 as u64)
}

fn step48(m: &mut Machine, a: Args) -> u64 {
    touch_random(m, a);
    let next = m.random.state48.wrapping_mul(0x5_deec_e66d).wrapping_add(0xb) & ((1 << 48) - 1);
    m.random.state48 = next;
    next
}
