//! Sync operations as recorded code calls them most: with the log's pointer in r12, and back.
//!
//! The thread-local pointer is not touched where nothing unusual happens: object known, room in the segment, success. Everything
//! unusual goes the way of `sync.rs`, with the pointer put where that looks for it.

use core::arch::global_asm;
use core::ffi::{c_int, c_void};

use crate::layout;
use crate::objects::Object;
use crate::sync::{self, Kind};
use crate::sys::{self, Real};
use crate::thread::Stream;

/// The C library's result and the pointer: rax and rdx.
#[repr(C)]
pub struct Both {
    result: u64,
    pointer: usize,
}

/// Calls the C library's function.
#[inline(always)]
fn call(real: usize, object: *mut c_void) -> c_int {
    // SAFETY: the address is that of the C library's function, which takes the object alone.
    unsafe {
        let real: unsafe extern "C" fn(*mut c_void) -> c_int = core::mem::transmute(real);
        real(object)
    }
}

/// The way of `sync.rs`.
#[cold]
#[inline(never)]
fn slowly(object: *mut c_void, pointer: usize, kind: Kind, real: usize) -> Both {
    sys::set_log_pointer(pointer);
    let result = sync::operate::<true>(object as u64, kind, || call(real, object));
    Both { result: result as u32 as u64, pointer: sys::log_pointer() }
}

/// Paths alone are recorded: only that the call returned.
#[inline(never)]
fn without_record(object: *mut c_void, pointer: usize, kind: Kind, real: usize) -> Both {
    if let Some(stream) = sync::stream()
        && stream.kept
        && has_room(stream, pointer)
    {
        let result = call(real, object);
        // SAFETY: there is room for the mark.
        unsafe { (pointer as *mut u8).write(layout::RETURN) };
        return Both { result: result as u32 as u64, pointer: pointer + 1 };
    }
    slowly(object, pointer, kind, real)
}

/// Writes after something unusual: the pointer goes through the thread-local variable.
#[cold]
#[inline(never)]
fn write_slowly(object: *mut c_void, pointer: usize, kind: Kind, result: c_int) -> Both {
    sys::set_log_pointer(pointer);
    if let Some(stream) = sync::stream() {
        sync::after::<true>(stream, Object::of(object as u64), kind, result);
    }
    Both { result: result as u32 as u64, pointer: sys::log_pointer() }
}

#[inline(always)]
fn has_room(stream: &Stream, pointer: usize) -> bool {
    (stream.end as usize).wrapping_sub(pointer) >= layout::SYNC_BYTES
}

#[inline(always)]
fn takes(object: *mut c_void, pointer: usize, kind: Kind, real: &'static Real) -> Both {
    let real = real.get();
    let Some(stream) = sync::stream() else { return slowly(object, pointer, kind, real) };
    if stream.silent != 0 {
        return without_record(object, pointer, kind, real);
    }
    let Some(own) = Object::known(object as u64) else {
        return slowly(object, pointer, kind, real);
    };
    if kind.waits != 0 {
        stream.pending_kept(kind.waits, own.name);
    }
    let result = call(real, object);
    if kind.waits != 0 {
        stream.pending_kept(0, 0);
    }
    if result != 0 || !has_room(stream, pointer) || own.is_late() {
        return write_slowly(object, pointer, kind, result);
    }
    let stamp = if kind.alone { own.stamp_held() } else { own.stamp() };
    let record = Stream::short(kind.done, own.name, stamp);
    // SAFETY: there is room for the record.
    unsafe { (pointer as *mut u64).write_unaligned(record) };
    Both { result: 0, pointer: pointer + layout::SYNC_SHORT_BYTES }
}

#[inline(always)]
fn gives(object: *mut c_void, pointer: usize, kind: Kind, real: &'static Real) -> Both {
    let real = real.get();
    let Some(stream) = sync::stream() else { return slowly(object, pointer, kind, real) };
    if stream.silent != 0 {
        return without_record(object, pointer, kind, real);
    }
    let Some(own) = Object::known(object as u64).filter(|_| has_room(stream, pointer)) else {
        return slowly(object, pointer, kind, real);
    };
    // SAFETY: there is room for the record.
    unsafe { (pointer as *mut u32).write_unaligned(Stream::bare(kind.before, own.name)) };
    let result = call(real, object);
    Both { result: result as u32 as u64, pointer: pointer + layout::SYNC_BARE_BYTES }
}

/// A function that is called with the pointer in r12, in terms of one that takes it as its second argument.
macro_rules! hot {
    ($($does:ident $name:ident, $called:literal = $real:literal, $kind:expr;)*) => {$(
        extern "C" fn $name(object: *mut c_void, pointer: usize) -> Both {
            static REAL: Real = Real::new($real);
            $does(object, pointer, $kind, &REAL)
        }

        global_asm!(
            ".text",
            concat!(".globl __unravel_r_", $called),
            concat!(".type __unravel_r_", $called, ",@function"),
            ".p2align 4",
            concat!("__unravel_r_", $called, ":"),
            ".cfi_startproc",
            "push rax",
            ".cfi_def_cfa_offset 16",
            "mov rsi, r12",
            "call {function}",
            "mov r12, rdx",
            "pop rcx",
            ".cfi_def_cfa_offset 8",
            "ret",
            ".cfi_endproc",
            concat!(".size __unravel_r_", $called, ", . - __unravel_r_", $called),
            function = sym $name,
        );
    )*};
}

hot! {
    takes mutex_lock, "pthread_mutex_lock" = c"pthread_mutex_lock", sync::takes(layout::SYNC_LOCK, 0, true);
    takes mutex_trylock, "pthread_mutex_trylock" = c"pthread_mutex_trylock", sync::takes(layout::SYNC_TRY_LOCK, layout::SYNC_TRY_LOCK_FAILED, false);
    gives mutex_unlock, "pthread_mutex_unlock" = c"pthread_mutex_unlock", sync::gives(layout::SYNC_UNLOCK);
    takes spin_lock, "pthread_spin_lock" = c"pthread_spin_lock", sync::takes(layout::SYNC_LOCK, 0, true);
    takes spin_trylock, "pthread_spin_trylock" = c"pthread_spin_trylock", sync::takes(layout::SYNC_TRY_LOCK, layout::SYNC_TRY_LOCK_FAILED, false);
    gives spin_unlock, "pthread_spin_unlock" = c"pthread_spin_unlock", sync::gives(layout::SYNC_UNLOCK);
    takes rwlock_rdlock, "pthread_rwlock_rdlock" = c"pthread_rwlock_rdlock", sync::shares(layout::SYNC_LOCK_SHARED, 0, true);
    takes rwlock_wrlock, "pthread_rwlock_wrlock" = c"pthread_rwlock_wrlock", sync::takes(layout::SYNC_LOCK, 0, true);
    takes rwlock_tryrdlock, "pthread_rwlock_tryrdlock" = c"pthread_rwlock_tryrdlock", sync::shares(layout::SYNC_TRY_LOCK_SHARED, layout::SYNC_TRY_LOCK_SHARED_FAILED, false);
    takes rwlock_trywrlock, "pthread_rwlock_trywrlock" = c"pthread_rwlock_trywrlock", sync::takes(layout::SYNC_TRY_LOCK, layout::SYNC_TRY_LOCK_FAILED, false);
    gives rwlock_unlock, "pthread_rwlock_unlock" = c"pthread_rwlock_unlock", sync::gives(layout::SYNC_UNLOCK);
}
