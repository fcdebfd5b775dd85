//! Sync operations: each calls the C library's and writes a record with a stamp.
//!
//! Stamps are counters, one for many objects (by a hash of the address): of two operations on one object the smaller stamp came
//! first, if both are stamped while the object is held. That is why `lock` is stamped after the C library's function; `unlock` needs no stamp, for
//! its lock has one. A
//! signal is stamped before, a wake-up after. Counters are cheaper than one global clock, for who holds the object has its counter's
//! cache line already, and they need no trust in the processors' clocks.

use core::ffi::{c_int, c_void};
use core::sync::atomic::{AtomicU64, Ordering};

use crate::layout;
use crate::sys::{self, Real};
use crate::thread::Stream;

const COUNTERS: usize = 1024;

#[repr(align(64))]
struct Counter(AtomicU64);

static STAMPS: [Counter; COUNTERS] = [const { Counter(AtomicU64::new(1)) }; COUNTERS];

#[inline(always)]
pub fn stamp(object: u64) -> u64 {
    let hash = object.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 54;
    // SAFETY: ten bits are below the number of counters.
    let counter = unsafe { &*(&raw const STAMPS).cast::<Counter>().add(hash as usize) };
    counter.0.fetch_add(1, Ordering::Relaxed)
}

/// The stream of this thread if sync operations are recorded in it.
#[inline(always)]
fn recorded() -> Option<&'static mut Stream> {
    let stream = Stream::current();
    // SAFETY: a stream lives as long as its thread, and only this thread uses it.
    unsafe {
        match stream.is_null()
            || !(*stream).kept
            || (*stream).busy
            || (*crate::file::header()).sync == 0
        {
            true => None,
            false => Some(&mut *stream),
        }
    }
}

/// What an operation writes.
#[derive(Clone, Copy)]
struct Kind {
    /// Before the C library's function; 0 for nothing.
    before: u8,
    /// If it returned 0, and if not (0: nothing).
    done: u8,
    failed: u8,
    /// What it says while it waits.
    waits: u8,
}

#[inline(always)]
fn operate(object: u64, kind: Kind, real: impl FnOnce() -> c_int) -> c_int {
    let Some(stream) = recorded() else { return real() };
    if kind.before == layout::SYNC_UNLOCK {
        stream.write_short(kind.before, object);
    } else if kind.before != 0 {
        stream.write_sync(kind.before, stamp(object), object);
    }
    if kind.waits != 0 {
        stream.pending(kind.waits, object);
    }
    let result = real();
    if kind.waits != 0 {
        stream.pending(0, 0);
    }
    let after = if result == 0 { kind.done } else { kind.failed };
    if after != 0 {
        stream.write_sync(after, stamp(object), object);
    }
    result
}

macro_rules! operations {
    ($($name:ident($($argument:ident: $kind:ty),*) $real:ident = $text:literal, $records:expr;)*) => {$(
        /// # Safety
        /// As the C library's.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(object: *mut c_void, $($argument: $kind),*) -> c_int {
            static REAL: Real = Real::$real($text);
            operate(object as u64, $records, || {
                // SAFETY: the same function, the same arguments.
                unsafe {
                    let real: unsafe extern "C" fn(*mut c_void, $($kind),*) -> c_int =
                        core::mem::transmute(REAL.get());
                    real(object, $($argument),*)
                }
            })
        }
    )*};
}

const fn takes(done: u8, failed: u8, waits: bool) -> Kind {
    Kind { before: 0, done, failed, waits: if waits { done } else { 0 } }
}

const fn gives(before: u8) -> Kind {
    Kind { before, done: 0, failed: 0, waits: 0 }
}

type Time = *const c_void;

operations! {
    pthread_mutex_lock() new = c"pthread_mutex_lock", takes(layout::SYNC_LOCK, 0, true);
    pthread_mutex_trylock() new = c"pthread_mutex_trylock", takes(layout::SYNC_TRY_LOCK, layout::SYNC_TRY_LOCK_FAILED, false);
    pthread_mutex_timedlock(until: Time) new = c"pthread_mutex_timedlock", takes(layout::SYNC_TRY_LOCK, layout::SYNC_TRY_LOCK_FAILED, true);
    pthread_mutex_clocklock(clock: c_int, until: Time) new = c"pthread_mutex_clocklock", takes(layout::SYNC_TRY_LOCK, layout::SYNC_TRY_LOCK_FAILED, true);
    pthread_mutex_unlock() new = c"pthread_mutex_unlock", gives(layout::SYNC_UNLOCK);
    pthread_spin_lock() new = c"pthread_spin_lock", takes(layout::SYNC_LOCK, 0, true);
    pthread_spin_trylock() new = c"pthread_spin_trylock", takes(layout::SYNC_TRY_LOCK, layout::SYNC_TRY_LOCK_FAILED, false);
    pthread_spin_unlock() new = c"pthread_spin_unlock", gives(layout::SYNC_UNLOCK);
    pthread_rwlock_rdlock() new = c"pthread_rwlock_rdlock", takes(layout::SYNC_LOCK_SHARED, 0, true);
    pthread_rwlock_wrlock() new = c"pthread_rwlock_wrlock", takes(layout::SYNC_LOCK, 0, true);
    pthread_rwlock_tryrdlock() new = c"pthread_rwlock_tryrdlock", takes(layout::SYNC_TRY_LOCK_SHARED, layout::SYNC_TRY_LOCK_SHARED_FAILED, false);
    pthread_rwlock_trywrlock() new = c"pthread_rwlock_trywrlock", takes(layout::SYNC_TRY_LOCK, layout::SYNC_TRY_LOCK_FAILED, false);
    pthread_rwlock_unlock() new = c"pthread_rwlock_unlock", gives(layout::SYNC_UNLOCK);
    pthread_cond_signal() versioned = c"pthread_cond_signal", gives(layout::SYNC_SIGNAL);
    pthread_cond_broadcast() versioned = c"pthread_cond_broadcast", gives(layout::SYNC_BROADCAST);
    sem_wait() new = c"sem_wait", takes(layout::SYNC_SEM_WAIT, 0, true);
    sem_trywait() new = c"sem_trywait", takes(layout::SYNC_SEM_TRY_WAIT, layout::SYNC_SEM_TRY_WAIT_FAILED, false);
    sem_timedwait(until: Time) new = c"sem_timedwait", takes(layout::SYNC_SEM_TRY_WAIT, layout::SYNC_SEM_TRY_WAIT_FAILED, true);
    sem_clockwait(clock: c_int, until: Time) new = c"sem_clockwait", takes(layout::SYNC_SEM_TRY_WAIT, layout::SYNC_SEM_TRY_WAIT_FAILED, true);
    sem_post() new = c"sem_post", gives(layout::SYNC_SEM_POST);
}

/// A wait gives the mutex away and takes it again: the records say so of the mutex, in this order: wait and unlock, lock and wake.
#[inline(always)]
fn wait(condition: u64, mutex: u64, real: impl FnOnce() -> c_int) -> c_int {
    let Some(stream) = recorded() else { return real() };
    stream.write_sync(layout::SYNC_WAIT, stamp(condition), condition);
    stream.write_short(layout::SYNC_UNLOCK, mutex);
    stream.pending(layout::SYNC_WAIT, condition);
    let result = real();
    stream.pending(0, 0);
    let wake = match result {
        sys::ETIMEDOUT => layout::SYNC_WAKE_TIMED_OUT,
        _ => layout::SYNC_WAKE,
    };
    stream.write_sync(layout::SYNC_LOCK, stamp(mutex), mutex);
    stream.write_sync(wake, stamp(condition), condition);
    result
}

macro_rules! waits {
    ($($name:ident($($argument:ident: $kind:ty),*) $real:ident = $text:literal;)*) => {$(
        /// # Safety
        /// As the C library's.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(condition: *mut c_void, mutex: *mut c_void, $($argument: $kind),*) -> c_int {
            static REAL: Real = Real::$real($text);
            wait(condition as u64, mutex as u64, || {
                // SAFETY: the same function, the same arguments.
                unsafe {
                    let real: unsafe extern "C" fn(*mut c_void, *mut c_void, $($kind),*) -> c_int =
                        core::mem::transmute(REAL.get());
                    real(condition, mutex, $($argument),*)
                }
            })
        }
    )*};
}

waits! {
    pthread_cond_wait() versioned = c"pthread_cond_wait";
    pthread_cond_timedwait(until: Time) versioned = c"pthread_cond_timedwait";
    pthread_cond_clockwait(clock: c_int, until: Time) new = c"pthread_cond_clockwait";
}

/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pthread_barrier_wait(barrier: *mut c_void) -> c_int {
    static REAL: Real = Real::new(c"pthread_barrier_wait");
    let object = barrier as u64;
    // SAFETY: the same function.
    let real = || unsafe {
        let real: extern "C" fn(*mut c_void) -> c_int = core::mem::transmute(REAL.get());
        real(barrier)
    };
    let Some(stream) = recorded() else { return real() };
    stream.write_sync(layout::SYNC_BARRIER_ARRIVE, stamp(object), object);
    stream.pending(layout::SYNC_BARRIER_ARRIVE, object);
    let result = real();
    stream.pending(0, 0);
    stream.write_sync(layout::SYNC_BARRIER_LEAVE, stamp(object), object);
    result
}

/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pthread_once(control: *mut c_void, function: extern "C" fn()) -> c_int {
    static REAL: Real = Real::new(c"pthread_once");
    let object = control as u64;
    let kind = Kind {
        before: layout::SYNC_ONCE,
        done: layout::SYNC_ONCE_DONE,
        failed: 0,
        waits: layout::SYNC_ONCE,
    };
    operate(object, kind, || {
        // SAFETY: the same function.
        unsafe {
            let real: extern "C" fn(*mut c_void, extern "C" fn()) -> c_int =
                core::mem::transmute(REAL.get());
            real(control, function)
        }
    })
}
