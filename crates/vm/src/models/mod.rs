//! Library functions that the VM executes itself, a file a family.
//!
//! A function is modelled if it schedules, blocks, allocates, ends something, calls back, touches
//! memory that threads share, or depends on the outside world's time or randomness. Everything else
//! is called natively on the arena.

pub(crate) mod alloc;
pub(crate) mod atomic;
pub(crate) mod barrier;
pub(crate) mod c11;
pub(crate) mod cancellation;
pub(crate) mod children;
pub(crate) mod cond;
pub(crate) mod cxx;
pub(crate) mod descriptors;
pub(crate) mod exception;
pub(crate) mod files;
pub(crate) mod float;
pub(crate) mod fork;
pub(crate) mod futex;
pub(crate) mod handlers;
pub(crate) mod intrinsics;
pub(crate) mod jump;
pub(crate) mod measures;
pub(crate) mod misc;
pub(crate) mod mutex;
pub(crate) mod once;
pub(crate) mod priorities;
pub(crate) mod process;
pub(crate) mod random;
pub(crate) mod rwlock;
pub(crate) mod semaphore;
pub(crate) mod signals;
pub(crate) mod strings;
pub(crate) mod threads;
pub(crate) mod time;
pub(crate) mod timers;
pub(crate) mod verifier;

use unravel_code::{Abi, Arg, CallSite, Reg};
use unravel_trace::SiteId;

use crate::machine::Machine;

/// A modelled function.
pub(crate) type Model = fn(&mut Machine, Args) -> Flow;
/// The functions of one family by name.
pub(crate) type Family = &'static [(&'static str, Model)];

/// How a modelled function comes back.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Flow {
    /// With a result of up to 64 bits (ignored where the caller expects none).
    Return(u64),
    /// With a result of two slots.
    Pair(u64, u64),
    /// With a 128-bit integer and a flag behind it.
    Wide(u128, u64),
    /// With an exception, in `Thread::thrown`.
    Throw,
    /// The thread's position was changed; go on from there.
    Jump,
}

pub(crate) const OK: Flow = Flow::Return(0);

/// An error number as a result.
pub(crate) fn error(number: i32) -> Flow {
    Flow::Return(number as u64)
}

/// -1, with `errno` set.
pub(crate) fn fail_with_errno(number: i32) -> Flow {
    // SAFETY: errno of this native thread, which belongs to the running green thread.
    unsafe { *libc::__errno_location() = number };
    Flow::Return(-1i32 as u32 as u64)
}

/// The arguments of a call.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Args {
    call: *const CallSite,
    fp: *const u64,
    /// Arguments of the call that are not the function's.
    skipped: usize,
}

impl Args {
    pub fn new(call: &CallSite, fp: *const u64) -> Args {
        Args { call, fp, skipped: 0 }
    }

    /// Those behind the first, which says what function is meant (`syscall`).
    pub fn behind_first(self) -> Args {
        Args { skipped: self.skipped + 1, ..self }
    }

    fn arg(&self, i: usize) -> Option<&Arg> {
        self.call().args.get(i + self.skipped)
    }

    pub fn call(&self) -> &CallSite {
        // SAFETY: call sites belong to the program, which outlives the run, or to whoever called the model.
        unsafe { &*self.call }
    }

    /// The caller's frame.
    pub fn frame(&self) -> *const u64 {
        self.fp
    }

    pub fn site(&self) -> SiteId {
        self.call().site
    }

    /// The first slot of argument `i`; 0 if the call passes fewer.
    pub fn word(&self, i: usize) -> u64 {
        // SAFETY: the argument's slots are in the caller's frame.
        self.arg(i).map_or(0, |arg| unsafe { *self.fp.add(arg.reg as usize) })
    }

    /// Both slots of a wide argument.
    pub fn wide(&self, i: usize) -> u128 {
        let low = self.word(i);
        let high = self.arg(i).map_or(0, |arg| {
            // SAFETY: as above; only read for arguments of two slots.
            if arg.slots >= 2 { unsafe { *self.fp.add(arg.reg as usize + 1) } } else { 0 }
        });
        u128::from(low) | u128::from(high) << 64
    }

    pub fn int(&self, i: usize) -> i32 {
        self.word(i) as i32
    }

    pub fn f64(&self, i: usize) -> f64 {
        f64::from_bits(self.word(i))
    }

    /// Width in bits of an integer or floating-point argument; 64 for pointers.
    pub fn bits(&self, i: usize) -> u8 {
        self.arg(i).map_or(64, |arg| bits_of(&arg.abi))
    }

    pub fn abi(&self, i: usize) -> Option<&Abi> {
        self.arg(i).map(|arg| &arg.abi)
    }

    pub fn result_bits(&self) -> u8 {
        bits_of(&self.call().result)
    }

    pub fn result(&self) -> &Abi {
        &self.call().result
    }
}

pub(crate) fn bits_of(abi: &Abi) -> u8 {
    match abi {
        Abi::Int { bits, .. } => *bits,
        Abi::F32 => 32,
        Abi::F80 => 80,
        Abi::Wide => 128,
        _ => 64,
    }
}

/// Puts a model's result where the caller wants it.
///
/// # Safety
/// `dst` is a slot of the caller's frame with room for the call's result.
pub(crate) unsafe fn store_result(call: &CallSite, flow: Flow, dst: Reg, fp: *mut u64) {
    // SAFETY: per the contract.
    unsafe {
        let at = fp.add(dst as usize);
        match flow {
            Flow::Return(value) if call.result_slots >= 1 => {
                *at = match call.result {
                    Abi::Int { bits, .. } => value & crate::arith::mask(bits),
                    Abi::F32 => value & 0xffff_ffff,
                    _ => value,
                };
                if call.result_slots >= 2 {
                    *at.add(1) = 0;
                }
            }
            Flow::Pair(low, high) if call.result_slots >= 1 => {
                *at = low;
                if call.result_slots >= 2 {
                    *at.add(1) = high;
                }
            }
            Flow::Wide(value, flag) => {
                *at = value as u64;
                *at.add(1) = (value >> 64) as u64;
                *at.add(2) = flag;
            }
            _ => {}
        }
    }
}

const FAMILIES: &[Family] = &[
    alloc::MODELS,
    atomic::MODELS,
    barrier::MODELS,
    c11::MODELS,
    cancellation::MODELS,
    children::MODELS,
    fork::MODELS,
    cond::MODELS,
    cxx::MODELS,
    exception::MODELS,
    files::MODELS,
    float::MODELS,
    futex::MODELS,
    handlers::MODELS,
    intrinsics::MODELS,
    jump::MODELS,
    measures::MODELS,
    misc::MODELS,
    mutex::MODELS,
    once::MODELS,
    priorities::MODELS,
    process::MODELS,
    random::MODELS,
    rwlock::MODELS,
    semaphore::MODELS,
    signals::MODELS,
    strings::MODELS,
    threads::MODELS,
    time::MODELS,
    timers::MODELS,
    verifier::MODELS,
];

/// The model of a function, by name.
pub(crate) fn find(name: &str) -> Option<Model> {
    use rustc_hash::FxHashMap;
    use std::sync::OnceLock;
    static TABLE: OnceLock<FxHashMap<&'static str, Model>> = OnceLock::new();
    let table =
        TABLE.get_or_init(|| FAMILIES.iter().flat_map(|family| family.iter().copied()).collect());
    table.get(name).copied()
}
