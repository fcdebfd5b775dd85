//! Sync operations: each calls the C library's and writes a record with a stamp (`objects.rs`).
//!
//! `lock` is stamped after the C library's function, while the object is held; `unlock` needs no stamp, for its lock has one. A
//! signal is stamped before, a wake-up after.
//!
//! Each has two names: the C library's, which any code of the process calls, and that of recorded code, which then need not write that
//! the call returned: at least one record is written, or else the mark of a return.

use core::ffi::{c_int, c_void};

use crate::layout;
use crate::objects::Object;
use crate::sys::{self, Real};
use crate::thread::Stream;

/// The stream of this thread; `None` if it has none.
#[inline(always)]
pub fn stream() -> Option<&'static mut Stream> {
    let stream = Stream::current();
    // SAFETY: a stream lives as long as its thread, and only this thread uses it.
    unsafe { if stream.is_null() { None } else { Some(&mut *stream) } }
}

/// What an operation writes.
#[derive(Clone, Copy)]
pub struct Kind {
    /// Before the C library's function; 0 for nothing.
    pub before: u8,
    /// If it got what it wanted, and if not (0: nothing).
    pub done: u8,
    pub failed: u8,
    /// What it says while it waits.
    pub waits: u8,
    /// Who has done it holds the object alone.
    pub alone: bool,
}

/// Without a record: only that it returned, if recorded code relies on it.
#[cold]
fn unrecorded<const MARKED: bool>(real: impl FnOnce() -> c_int) -> c_int {
    let result = real();
    if MARKED
        && let Some(stream) = stream()
        && stream.kept
    {
        stream.write_return();
    }
    result
}

#[inline(always)]
pub fn operate<const MARKED: bool>(
    address: u64,
    kind: Kind,
    real: impl FnOnce() -> c_int,
) -> c_int {
    let Some(stream) = stream().filter(|stream| stream.silent == 0) else {
        return unrecorded::<MARKED>(real);
    };
    let object = Object::of(address);
    if kind.before == layout::SYNC_UNLOCK {
        stream.write_bare(kind.before, object.name);
    } else if kind.before != 0 {
        stream.write_sync(kind.before, object.stamp(), object.name);
    }
    if kind.waits != 0 {
        stream.pending(kind.waits, object.name);
    }
    let result = real();
    if kind.waits != 0 {
        stream.pending(0, 0);
    }
    after::<MARKED>(stream, object, kind, result);
    result
}

/// What is written when the C library's function is done.
#[inline(always)]
pub fn after<const MARKED: bool>(stream: &mut Stream, object: Object, kind: Kind, result: c_int) {
    // A robust mutex whose owner died is locked all the same.
    let after = if result == 0 || result == sys::EOWNERDEAD { kind.done } else { kind.failed };
    if after == 0 {
        if MARKED && kind.before == 0 && stream.kept {
            stream.write_return();
        }
    } else if stream.kept {
        let stamp = match () {
            () if after == kind.failed => object.glance(),
            () if kind.alone => object.stamp_held(),
            () => object.stamp(),
        };
        stream.write_sync(after, stamp, object.name);
    }
}

/// Those of `<threads.h>` have one name only: their calls are marked as returned like any other.
macro_rules! operations_of_c11 {
    ($($name:ident($($argument:ident: $kind:ty),*) = $text:literal, $records:expr;)*) => {$(
        operations!(@one $name, false, ($($argument: $kind),*), new, $text, $records);
    )*};
}

macro_rules! operations {
    ($($name:ident, $marked:ident($($argument:ident: $kind:ty),*) $real:ident = $text:literal, $records:expr;)*) => {$(
        operations!(@one $name, false, ($($argument: $kind),*), $real, $text, $records);
        operations!(@one $marked, true, ($($argument: $kind),*), $real, $text, $records);
    )*};
    (@one $name:ident, $recorded:literal, ($($argument:ident: $kind:ty),*), $real:ident, $text:literal, $records:expr) => {
        /// # Safety
        /// As the C library's.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(object: *mut c_void, $($argument: $kind),*) -> c_int {
            static REAL: Real = Real::$real($text);
            operate::<$recorded>(object as u64, $records, || {
                // SAFETY: the same function, the same arguments.
                unsafe {
                    let real: unsafe extern "C" fn(*mut c_void, $($kind),*) -> c_int =
                        core::mem::transmute(REAL.get());
                    real(object, $($argument),*)
                }
            })
        }
    };
}

pub const fn takes(done: u8, failed: u8, waits: bool) -> Kind {
    // A reader needs to know the object even so, for the unlocks that write nothing.
    let failed = if failed == 0 && (done == layout::SYNC_LOCK || done == layout::SYNC_LOCK_SHARED) {
        layout::SYNC_NOT_LOCKED
    } else {
        failed
    };
    Kind { before: 0, done, failed, waits: if waits { done } else { 0 }, alone: true }
}

/// The same of what several may have at once.
pub const fn shares(done: u8, failed: u8, waits: bool) -> Kind {
    Kind { alone: false, ..takes(done, failed, waits) }
}

pub const fn gives(before: u8) -> Kind {
    Kind { before, done: 0, failed: 0, waits: 0, alone: false }
}

type Time = *const c_void;

operations! {
    pthread_mutex_lock, __unravel_pthread_mutex_lock() new = c"pthread_mutex_lock", takes(layout::SYNC_LOCK, 0, true);
    pthread_mutex_trylock, __unravel_pthread_mutex_trylock() new = c"pthread_mutex_trylock", takes(layout::SYNC_TRY_LOCK, layout::SYNC_TRY_LOCK_FAILED, false);
    pthread_mutex_timedlock, __unravel_pthread_mutex_timedlock(until: Time) new = c"pthread_mutex_timedlock", takes(layout::SYNC_TRY_LOCK, layout::SYNC_TRY_LOCK_FAILED, true);
    pthread_mutex_clocklock, __unravel_pthread_mutex_clocklock(clock: c_int, until: Time) new = c"pthread_mutex_clocklock", takes(layout::SYNC_TRY_LOCK, layout::SYNC_TRY_LOCK_FAILED, true);
    pthread_mutex_unlock, __unravel_pthread_mutex_unlock() new = c"pthread_mutex_unlock", gives(layout::SYNC_UNLOCK);
    pthread_spin_lock, __unravel_pthread_spin_lock() new = c"pthread_spin_lock", takes(layout::SYNC_LOCK, 0, true);
    pthread_spin_trylock, __unravel_pthread_spin_trylock() new = c"pthread_spin_trylock", takes(layout::SYNC_TRY_LOCK, layout::SYNC_TRY_LOCK_FAILED, false);
    pthread_spin_unlock, __unravel_pthread_spin_unlock() new = c"pthread_spin_unlock", gives(layout::SYNC_UNLOCK);
    pthread_rwlock_rdlock, __unravel_pthread_rwlock_rdlock() new = c"pthread_rwlock_rdlock", shares(layout::SYNC_LOCK_SHARED, 0, true);
    pthread_rwlock_wrlock, __unravel_pthread_rwlock_wrlock() new = c"pthread_rwlock_wrlock", takes(layout::SYNC_LOCK, 0, true);
    pthread_rwlock_tryrdlock, __unravel_pthread_rwlock_tryrdlock() new = c"pthread_rwlock_tryrdlock", shares(layout::SYNC_TRY_LOCK_SHARED, layout::SYNC_TRY_LOCK_SHARED_FAILED, false);
    pthread_rwlock_trywrlock, __unravel_pthread_rwlock_trywrlock() new = c"pthread_rwlock_trywrlock", takes(layout::SYNC_TRY_LOCK, layout::SYNC_TRY_LOCK_FAILED, false);
    pthread_rwlock_unlock, __unravel_pthread_rwlock_unlock() new = c"pthread_rwlock_unlock", gives(layout::SYNC_UNLOCK);
    pthread_cond_signal, __unravel_pthread_cond_signal() versioned = c"pthread_cond_signal", gives(layout::SYNC_SIGNAL);
    pthread_cond_broadcast, __unravel_pthread_cond_broadcast() versioned = c"pthread_cond_broadcast", gives(layout::SYNC_BROADCAST);
    sem_wait, __unravel_sem_wait() new = c"sem_wait", shares(layout::SYNC_SEM_WAIT, 0, true);
    sem_trywait, __unravel_sem_trywait() new = c"sem_trywait", shares(layout::SYNC_SEM_TRY_WAIT, layout::SYNC_SEM_TRY_WAIT_FAILED, false);
    sem_timedwait, __unravel_sem_timedwait(until: Time) new = c"sem_timedwait", shares(layout::SYNC_SEM_TRY_WAIT, layout::SYNC_SEM_TRY_WAIT_FAILED, true);
    sem_clockwait, __unravel_sem_clockwait(clock: c_int, until: Time) new = c"sem_clockwait", shares(layout::SYNC_SEM_TRY_WAIT, layout::SYNC_SEM_TRY_WAIT_FAILED, true);
    sem_post, __unravel_sem_post() new = c"sem_post", gives(layout::SYNC_SEM_POST);
}

operations_of_c11! {
    mtx_lock() = c"mtx_lock", takes(layout::SYNC_LOCK, 0, true);
    mtx_trylock() = c"mtx_trylock", takes(layout::SYNC_TRY_LOCK, layout::SYNC_TRY_LOCK_FAILED, false);
    mtx_timedlock(until: Time) = c"mtx_timedlock", takes(layout::SYNC_TRY_LOCK, layout::SYNC_TRY_LOCK_FAILED, true);
    mtx_unlock() = c"mtx_unlock", gives(layout::SYNC_UNLOCK);
    cnd_signal() = c"cnd_signal", gives(layout::SYNC_SIGNAL);
    cnd_broadcast() = c"cnd_broadcast", gives(layout::SYNC_BROADCAST);
}

/// A wait gives the mutex away and takes it again: the records say so of the mutex, in this order: wait and unlock, lock and wake.
#[inline(always)]
fn wait<const MARKED: bool>(condition: u64, mutex: u64, real: impl FnOnce() -> c_int) -> c_int {
    const MORE: u8 = layout::SYNC_MORE;
    let Some(stream) = stream().filter(|stream| stream.silent == 0) else {
        return unrecorded::<MARKED>(real);
    };
    let (condition, mutex) = (Object::of(condition), Object::of(mutex));
    stream.write_sync(layout::SYNC_WAIT | MORE, condition.stamp(), condition.name);
    stream.write_bare(layout::SYNC_UNLOCK | MORE, mutex.name);
    stream.pending(layout::SYNC_WAIT, condition.name);
    let result = real();
    stream.pending(0, 0);
    let wake = match result {
        sys::ETIMEDOUT | sys::THRD_TIMED_OUT => layout::SYNC_WAKE_TIMED_OUT,
        _ => layout::SYNC_WAKE,
    };
    if stream.kept {
        stream.write_sync(layout::SYNC_LOCK | MORE, mutex.stamp_held(), mutex.name);
    }
    if stream.kept {
        stream.write_sync(wake, condition.stamp(), condition.name);
    }
    result
}

macro_rules! waits {
    ($($name:ident, $marked:ident($($argument:ident: $kind:ty),*) $real:ident = $text:literal;)*) => {$(
        waits!(@one $name, false, ($($argument: $kind),*), $real, $text);
        waits!(@one $marked, true, ($($argument: $kind),*), $real, $text);
    )*};
    (@one $name:ident, $recorded:literal, ($($argument:ident: $kind:ty),*), $real:ident, $text:literal) => {
        /// # Safety
        /// As the C library's.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(condition: *mut c_void, mutex: *mut c_void, $($argument: $kind),*) -> c_int {
            static REAL: Real = Real::$real($text);
            wait::<$recorded>(condition as u64, mutex as u64, || {
                // SAFETY: the same function, the same arguments.
                unsafe {
                    let real: unsafe extern "C" fn(*mut c_void, *mut c_void, $($kind),*) -> c_int =
                        core::mem::transmute(REAL.get());
                    real(condition, mutex, $($argument),*)
                }
            })
        }
    };
}

waits! {
    pthread_cond_wait, __unravel_pthread_cond_wait() versioned = c"pthread_cond_wait";
    pthread_cond_timedwait, __unravel_pthread_cond_timedwait(until: Time) versioned = c"pthread_cond_timedwait";
    pthread_cond_clockwait, __unravel_pthread_cond_clockwait(clock: c_int, until: Time) new = c"pthread_cond_clockwait";
}

waits!(@one cnd_wait, false, (), new, c"cnd_wait");
waits!(@one cnd_timedwait, false, (until: Time), new, c"cnd_timedwait");

#[inline(always)]
fn barrier<const MARKED: bool>(barrier: *mut c_void) -> c_int {
    static REAL: Real = Real::new(c"pthread_barrier_wait");
    // SAFETY: the same function.
    let real = || unsafe {
        let real: extern "C" fn(*mut c_void) -> c_int = core::mem::transmute(REAL.get());
        real(barrier)
    };
    let Some(stream) = stream().filter(|stream| stream.silent == 0) else {
        return unrecorded::<MARKED>(real);
    };
    let object = Object::of(barrier as u64);
    let arrive = layout::SYNC_BARRIER_ARRIVE;
    stream.write_sync(arrive | layout::SYNC_MORE, object.stamp(), object.name);
    stream.pending(arrive, object.name);
    let result = real();
    stream.pending(0, 0);
    if stream.kept {
        stream.write_sync(layout::SYNC_BARRIER_LEAVE, object.stamp(), object.name);
    }
    result
}

/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pthread_barrier_wait(object: *mut c_void) -> c_int {
    barrier::<false>(object)
}

/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __unravel_pthread_barrier_wait(object: *mut c_void) -> c_int {
    barrier::<true>(object)
}

const ONCE: Kind = Kind {
    before: layout::SYNC_ONCE,
    done: layout::SYNC_ONCE_DONE,
    failed: 0,
    waits: layout::SYNC_ONCE,
    alone: false,
};

/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pthread_once(control: *mut c_void, function: extern "C" fn()) -> c_int {
    static REAL: Real = Real::new(c"pthread_once");
    operate::<false>(control as u64, ONCE, || {
        // SAFETY: the same function.
        unsafe {
            let real: extern "C" fn(*mut c_void, extern "C" fn()) -> c_int =
                core::mem::transmute(REAL.get());
            real(control, function)
        }
    })
}

/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn call_once(control: *mut c_void, function: extern "C" fn()) {
    static REAL: Real = Real::new(c"call_once");
    operate::<false>(control as u64, ONCE, || {
        // SAFETY: the same function.
        unsafe {
            let real: extern "C" fn(*mut c_void, extern "C" fn()) =
                core::mem::transmute(REAL.get());
            real(control, function);
        }
        0
    });
}
