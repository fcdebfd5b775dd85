//! The C library's generators, so that programs see the numbers they see natively, started anew in every run.
//! Their state is shared by all threads: using it is an event. What is really random natively
//! (`std::random_device`, `getrandom`) comes from a generator of ours, so that runs can be repeated.

use unravel_trace::{EventKind, Op, Rng};

use super::{Args, Family, Flow, OK};
use crate::machine::Machine;
use crate::thread::Need;

pub(crate) const MODELS: Family = &[
    ("rand", |m, a| integer(m, a, || rand().into())),
    ("random", |m, a| integer(m, a, || random())),
    ("srand", |m, a| seed(m, a, || srandom(a.word(0) as u32))),
    ("srandom", |m, a| seed(m, a, || srandom(a.word(0) as u32))),
    ("initstate", |m, a| {
        m.check_sync(a.word(1), a.word(2).max(1), true);
        // SAFETY: the program's memory, just checked; the program keeps it as long as `random` uses it.
        integer(m, a, || unsafe { initstate(a.word(0) as u32, a.word(1), a.word(2)) } as i64)
    }),
    ("setstate", |m, a| {
        // SAFETY: a state from `initstate`, as the program promises; if it is not, a crash is caught.
        integer(m, a, || unsafe { setstate(a.word(0)) } as i64)
    }),
    ("rand_r", |m, a| {
        // Its state is the caller's: read and written as plain memory.
        m.shadow_look(a.word(0), 4);
        m.check_sync(a.word(0), 4, true);
        // SAFETY: just checked.
        Flow::Return(unsafe { rand_r(a.word(0)) } as u64)
    }),
    ("drand48", |m, a| {
        touch(m, a);
        Flow::Return(drand48().to_bits())
    }),
    ("lrand48", |m, a| integer(m, a, || lrand48())),
    ("mrand48", |m, a| integer(m, a, || mrand48())),
    ("srand48", |m, a| seed(m, a, || srand48(a.word(0) as i64))),
    ("seed48", |m, a| {
        m.check_sync(a.word(0), 6, false);
        // SAFETY: three numbers, just checked.
        integer(m, a, || unsafe { seed48(a.word(0) as *const _) } as i64)
    }),
    ("lcong48", |m, a| {
        m.check_sync(a.word(0), 14, false);
        // SAFETY: seven numbers, just checked.
        seed(m, a, || unsafe { lcong48(a.word(0)) })
    }),
    ("_ZNSt13random_device9_M_getvalEv", |m, a| {
        touch(m, a);
        Flow::Return(m.natives.generators.entropy.word())
    }),
    ("arc4random", |m, a| {
        touch(m, a);
        Flow::Return(m.natives.generators.entropy.word())
    }),
    ("arc4random_uniform", |m, a| {
        touch(m, a);
        Flow::Return(m.natives.generators.entropy.below((a.word(0) as u32).max(1)).into())
    }),
    ("arc4random_buf", |m, a| fill(m, a, 0)),
    ("getentropy", |m, a| fill(m, a, 0)),
    ("getrandom", |m, a| fill(m, a, a.word(1))),
];

/// Functions whose use makes it necessary to start the generators anew.
pub(crate) const STATEFUL: &[&str] = &[
    "rand",
    "random",
    "srand",
    "srandom",
    "initstate",
    "setstate",
    "drand48",
    "lrand48",
    "mrand48",
    "srand48",
    "seed48",
    "lcong48",
    "_ZNSt13random_device9_M_getvalEv",
    "arc4random",
    "arc4random_uniform",
    "arc4random_buf",
    "getentropy",
    "getrandom",
];

// The safe ones take no memory, and use the C library's own from this one native thread.
unsafe extern "C" {
    safe fn rand() -> i32;
    safe fn random() -> i64;
    safe fn srandom(seed: u32);
    fn initstate(seed: u32, state: u64, bytes: u64) -> u64;
    fn setstate(state: u64) -> u64;
    fn rand_r(seed: u64) -> u32;
    safe fn drand48() -> f64;
    safe fn lrand48() -> i64;
    safe fn mrand48() -> i64;
    safe fn srand48(seed: i64);
    fn seed48(state: *const [u16; 3]) -> u64;
    fn lcong48(parameters: u64);
}

/// The generators as a process finds them.
#[derive(Debug)]
pub(crate) struct Generators {
    /// The state that `random` starts with, as `setstate` wants it.
    state: u64,
    entropy: Rng,
}

impl Generators {
    pub fn new() -> Generators {
        let mut other = [0u64; 1];
        // SAFETY: the smallest state that is allowed, given up again at once.
        unsafe {
            let state = initstate(1, other.as_mut_ptr() as u64, 8);
            setstate(state);
            Generators { state, entropy: Rng::new(0) }
        }
    }

    pub fn reset(&mut self) {
        self.entropy = Rng::new(0);
        // SAFETY: the C library's own state.
        unsafe {
            setstate(self.state);
            srandom(1);
            seed48(&[0; 3]);
        }
    }
}

/// Fills memory with random bytes, and returns `result`.
fn fill(m: &mut Machine, a: Args, result: u64) -> Flow {
    let (address, bytes) = (a.word(0), a.word(1));
    touch(m, a);
    m.range(address, bytes, true, a.site());
    m.shadow_forget(address, bytes);
    for i in 0..bytes {
        // SAFETY: checked.
        unsafe { *((address + i) as *mut u8) = m.natives.generators.entropy.word() as u8 };
    }
    Flow::Return(result)
}

fn touch(m: &mut Machine, a: Args) {
    if m.alive > 1 {
        m.point(Op::External, 0, 0, a.site(), Need::Nothing);
        m.record(a.site(), EventKind::External { name: "rand".into() });
    }
}

fn integer(m: &mut Machine, a: Args, next: impl FnOnce() -> i64) -> Flow {
    touch(m, a);
    Flow::Return(next() as u64)
}

fn seed(m: &mut Machine, a: Args, seed: impl FnOnce()) -> Flow {
    touch(m, a);
    seed();
    OK
}
