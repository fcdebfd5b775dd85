//! libstdc++'s out-of-line parts of `std::thread`, `std::condition_variable` and futures, which would
//! otherwise block natively. (`std::mutex`, atomics and the rest are inline and need nothing.)

use unravel_trace::{FailureKind, Op};

use super::{Args, Family, Flow, OK, cond, error, threads};
use crate::machine::Machine;
use crate::thread::Need;

pub(crate) const MODELS: Family = &[
    (
        "_ZNSt6thread15_M_start_threadESt10unique_ptrINS_6_StateESt14default_deleteIS1_EEPFvvE",
        start_thread,
    ),
    ("_ZNSt6thread4joinEv", join),
    ("_ZNSt6thread6detachEv", detach),
    ("_ZNSt18condition_variableC1Ev", zero_cond),
    ("_ZNSt18condition_variableC2Ev", zero_cond),
    ("_ZNSt18condition_variableD1Ev", cond::destroy),
    ("_ZNSt18condition_variableD2Ev", cond::destroy),
    ("_ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE", wait),
    ("_ZNSt18condition_variable10notify_oneEv", |m, a| cond::signal(m, a.word(0), a.site())),
    ("_ZNSt18condition_variable10notify_allEv", |m, a| cond::broadcast(m, a.word(0), a.site())),
    (
        "_ZNSt28__atomic_futex_unsigned_base19_M_futex_wait_untilEPjjbNSt6chrono8durationIlSt5ratioILl1ELl1EEEENS2_IlS3_ILl1ELl1000000000EEEE",
        futex_wait,
    ),
    (
        "_ZNSt28__atomic_futex_unsigned_base26_M_futex_wait_until_steadyEPjjbNSt6chrono8durationIlSt5ratioILl1ELl1EEEENS2_IlS3_ILl1ELl1000000000EEEE",
        futex_wait,
    ),
    ("_ZNSt28__atomic_futex_unsigned_base19_M_futex_notify_allEPj", |_, _| OK),
    ("__cxa_pure_virtual", |m, _| m.fail(FailureKind::Crash, "a pure virtual function was called")),
    ("__cxa_deleted_virtual", |m, _| {
        m.fail(FailureKind::Crash, "a deleted virtual function was called")
    }),
];

/// `std::thread` hands over a state object with a virtual `_M_run`; the new thread owns it.
fn start_thread(m: &mut Machine, a: Args) -> Flow {
    let (thread_at, state_at) = (a.word(0), a.word(1));
    m.check_sync(thread_at, 8, true);
    m.shadow_look(state_at, 8);
    m.check_sync(state_at, 8, true);
    // SAFETY: a `unique_ptr` to an object whose second virtual function is the destructor that also frees it,
    // and whose third is `_M_run`.
    let (state, delete, run) = unsafe {
        let state = *(state_at as *const u64);
        let table = *(state as *const u64);
        (state, *((table + 8) as *const u64), *((table + 16) as *const u64))
    };
    let child = threads::fork(m, run, state, Some(delete), a.site());
    // SAFETY: checked above. The pointer's owner gives the object up.
    unsafe {
        *(thread_at as *mut u64) = m.threads[child.index()].handle;
        *(state_at as *mut u64) = 0;
    }
    OK
}

fn join(m: &mut Machine, a: Args) -> Flow {
    m.shadow_look(a.word(0), 8);
    m.check_sync(a.word(0), 8, true);
    // SAFETY: checked.
    let handle = unsafe { *(a.word(0) as *const u64) };
    let joined = if handle == 0 {
        error(libc::EINVAL)
    } else {
        threads::join(m, handle, 0, a.site(), threads::Patience::Endless)
    };
    forget_handle(m, a.word(0), joined)
}

/// The `std::thread` at an address is no longer one, unless that failed.
fn forget_handle(m: &mut Machine, thread_at: u64, result: Flow) -> Flow {
    match result {
        Flow::Return(0) => {
            // SAFETY: checked.
            unsafe { *(thread_at as *mut u64) = 0 };
            OK
        }
        Flow::Return(number) => m.throw_system_error(number as i32),
        other => other,
    }
}

fn detach(m: &mut Machine, a: Args) -> Flow {
    m.shadow_look(a.word(0), 8);
    m.check_sync(a.word(0), 8, true);
    // SAFETY: checked.
    let handle = unsafe { *(a.word(0) as *const u64) };
    let detached = if handle == 0 { error(libc::EINVAL) } else { threads::detach(m, handle) };
    forget_handle(m, a.word(0), detached)
}

fn zero_cond(m: &mut Machine, a: Args) -> Flow {
    let bytes = crate::sync::cond::USED;
    m.check_sync(a.word(0), bytes, true);
    // SAFETY: checked.
    unsafe { (a.word(0) as *mut u8).write_bytes(0, bytes as usize) };
    OK
}

/// A `unique_lock` begins with a pointer to its mutex.
fn wait(m: &mut Machine, a: Args) -> Flow {
    m.check_sync(a.word(1), 8, false);
    // SAFETY: checked.
    let mutex = unsafe { *(a.word(1) as *const u64) };
    cond::wait(m, a.word(0), mutex, a.site(), false);
    OK
}

/// Waits until the word is no longer `value`; true unless a timeout was given and ran out.
fn futex_wait(m: &mut Machine, a: Args) -> Flow {
    let (address, value, timed) = (a.word(1), a.word(2) as u32, a.word(3) & 1 != 0);
    m.check_sync(address, 4, false);
    let thread = m.current_thread();
    thread.timed = timed;
    thread.timed_out = false;
    thread.deadline = a.word(4).saturating_mul(1_000_000_000).saturating_add(a.word(5));
    m.point(Op::Acquire, address, 4, a.site(), Need::Changed(address, value));
    let timed_out = std::mem::take(&mut m.current_thread().timed_out);
    m.record_read(address, 4, a.site());
    m.shadow_look(address, 4);
    Flow::Return(u64::from(!timed_out))
}
