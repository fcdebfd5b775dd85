//! Sync operations as recorded code calls them most: with the log's pointer in r12, and back.
//!
//! By hand, because they are the most frequent calls there are: where nothing unusual happens (object known, room in the segment, success)
//! there is one call, that of the C library, and the thread-local pointer is not touched. Everything unusual goes the way of `sync.rs`, with the pointer put
//! where that looks for it. Where paths alone are recorded, only the mark that the call returned is written.

use core::arch::global_asm;
use core::ffi::{c_int, c_void};
use core::mem::offset_of;

use crate::layout::{self, ThreadEntry};
use crate::objects::{self, Object, Place};
use crate::sync::{self, Kind};
use crate::sys::{self, Real};
use crate::thread::Stream;

/// The C library's result and the pointer: rax and rdx.
#[repr(C)]
pub struct Both {
    result: u64,
    pointer: usize,
}

/// Of a call that was not made yet.
const NOT_YET: u64 = u64::MAX;

/// The way of `sync.rs`, from the beginning or, with the C library's result, from what is written after its call.
fn slowly(object: *mut c_void, pointer: usize, result: u64, kind: Kind, real: &Real) -> Both {
    let real = real.get();
    sys::set_log_pointer(pointer);
    let result = if result == NOT_YET {
        sync::operate::<true>(object as u64, kind, || {
            // SAFETY: the address is that of the C library's function, which takes the object alone.
            unsafe {
                let real: unsafe extern "C" fn(*mut c_void) -> c_int = core::mem::transmute(real);
                real(object)
            }
        })
    } else {
        if let Some(stream) = sync::stream() {
            sync::after::<true>(stream, Object::of(object as u64), kind, result as c_int);
        }
        result as c_int
    };
    Both { result: result as u32 as u64, pointer: sys::log_pointer() }
}

/// How each begins: the stream in rax, the C library's function in rcx, the object's number in rbx, its place at rsi + rdx. Leaves for 7 where sync
/// operations are not asked for, and for 8 where anything is unusual.
macro_rules! enter {
    () => {
        "push rbx
        .cfi_def_cfa_offset 16
        .cfi_offset rbx, -16
        mov rax, qword ptr [rip + __unravel_stream@GOTTPOFF]
        mov rax, qword ptr fs:[rax]
        mov rcx, qword ptr [rip + {real} + {address}]
        test rax, rax
        je 8f
        test rcx, rcx
        je 8f
        cmp byte ptr [rax + {silent}], 0
        jne 7f
        movabs rbx, {hash}
        imul rbx, rdi
        shr rbx, {shift}
        lea rsi, [rip + {table}]
        mov edx, ebx
        shl edx, 6
        cmp qword ptr [rsi + rdx + {object}], rdi
        jne 8f"
    };
}

macro_rules! leave {
    () => {
        "pop rbx
        .cfi_remember_state
        .cfi_def_cfa_offset 8
        ret
        .cfi_restore_state"
    };
}

/// How each ends: the mark of a return alone, and all that is unusual before the C library's function is called.
macro_rules! aside {
    () => {
        "7: cmp byte ptr [rax + {kept}], 0
        je 8f
        mov rdx, qword ptr [rax + {end}]
        sub rdx, r12
        cmp rdx, {longest}
        jb 8f
        call rcx
        mov byte ptr [r12], {returned}
        inc r12
        pop rbx
        .cfi_remember_state
        .cfi_def_cfa_offset 8
        ret
        .cfi_restore_state
        8: mov rdx, {not_yet}
        6: mov rsi, r12
        call {slowly}
        mov r12, rdx
        pop rbx
        .cfi_remember_state
        .cfi_def_cfa_offset 8
        ret
        .cfi_restore_state"
    };
}

/// The last stamp in rdx, and one more in the place at rcx: by who holds the object alone, and by one of several.
macro_rules! alone {
    () => {
        "mov rdx, qword ptr [rcx + {next}]
        lea rsi, [rdx + {step}]
        mov qword ptr [rcx + {next}], rsi"
    };
}
macro_rules! among_others {
    () => {
        "mov edx, {step}
        lock xadd qword ptr [rcx + {next}], rdx"
    };
}

/// Recorded code calls it by `$called`; `$text` is what it does where nothing is unusual.
macro_rules! function {
    ($called:literal, $real:literal, $kind:expr, [$($text:expr),*], [$($more:expr),*], $($operand:ident = $value:expr),*) => {
        static REAL: Real = Real::new($real);
        const KIND: Kind = $kind;

        #[cold]
        extern "C" fn slowly(object: *mut c_void, pointer: usize, result: u64) -> Both {
            super::slowly(object, pointer, result, KIND, &REAL)
        }

        global_asm!(
            ".text",
            concat!(".globl __unravel_r_", $called),
            concat!(".type __unravel_r_", $called, ",@function"),
            ".p2align 5",
            concat!("__unravel_r_", $called, ":"),
            ".cfi_startproc",
            enter!(),
            $($text,)*
            leave!(),
            $($more,)*
            aside!(),
            ".cfi_endproc",
            concat!(".size __unravel_r_", $called, ", . - __unravel_r_", $called),
            slowly = sym slowly,
            real = sym REAL,
            table = sym objects::TABLE,
            address = const offset_of!(Real, address),
            silent = const offset_of!(Stream, silent),
            kept = const offset_of!(Stream, kept),
            end = const offset_of!(Stream, end),
            hash = const objects::HASH,
            shift = const objects::SHIFT,
            object = const offset_of!(Place, object),
            longest = const layout::SYNC_BYTES,
            returned = const layout::RETURN,
            not_yet = const NOT_YET as i64,
            $($operand = const $value,)*
        );
    };
}

/// What an operation that takes an object does: says that it waits, calls, and writes a record with a stamp.
macro_rules! takes {
    ($name:ident, $called:literal, $real:literal, $stamp:ident, $kind:expr) => {
        mod $name {
            use super::*;

            function!(
                $called,
                $real,
                $kind,
                [
                    "mov rdx, qword ptr [rax + {entry}]
                    movabs rsi, {waits}
                    or rsi, rbx
                    mov qword ptr [rdx + {pending}], rsi
                    call rcx
                    mov rdx, qword ptr [rip + __unravel_stream@GOTTPOFF]
                    mov rdx, qword ptr fs:[rdx]
                    mov rcx, qword ptr [rdx + {entry}]
                    mov qword ptr [rcx + {pending}], 0
                    test eax, eax
                    jne 9f
                    mov rdx, qword ptr [rdx + {end}]
                    sub rdx, r12
                    cmp rdx, {longest}
                    jb 9f
                    lea rcx, [rip + {table}]
                    mov edx, ebx
                    shl edx, 6
                    add rcx, rdx
                    cmp qword ptr [rcx + {next}], {most}
                    ja 9f",
                    $stamp!(),
                    "add rdx, {step}
                    shl rdx, 32
                    shl ebx, 16
                    lea rdx, [rdx + rbx + {record}]
                    mov qword ptr [r12], rdx
                    add r12, {bytes}"
                ],
                ["9: shl ebx, 6
                    lea rsi, [rip + {table}]
                    mov rdi, qword ptr [rsi + rbx + {object}]
                    mov edx, eax
                    jmp 6f"],
                entry = offset_of!(Stream, entry),
                pending = offset_of!(ThreadEntry, pending),
                waits = (KIND.waits as u64) << 56,
                next = offset_of!(Place, next),
                step = objects::STEP,
                most = objects::LAST_SHORT,
                record = layout::SYNC_SHORT as u32 | (KIND.done as u32) << 8,
                bytes = layout::SYNC_SHORT_BYTES
            );
        }
    };
}

/// What one that gives it back does: writes a record without a stamp, and calls.
macro_rules! gives {
    ($name:ident, $called:literal, $real:literal, $kind:expr) => {
        mod $name {
            use super::*;

            function!(
                $called,
                $real,
                $kind,
                ["mov rdx, qword ptr [rax + {end}]
                    sub rdx, r12
                    cmp rdx, {longest}
                    jb 8f
                    shl ebx, 16
                    add ebx, {record}
                    mov dword ptr [r12], ebx
                    call rcx
                    add r12, {bytes}"],
                [],
                record = layout::SYNC_BARE as u32 | (KIND.before as u32) << 8,
                bytes = layout::SYNC_BARE_BYTES
            );
        }
    };
}

takes!(
    mutex_lock,
    "pthread_mutex_lock",
    c"pthread_mutex_lock",
    alone,
    sync::takes(layout::SYNC_LOCK, 0, true)
);
takes!(
    mutex_trylock,
    "pthread_mutex_trylock",
    c"pthread_mutex_trylock",
    alone,
    sync::takes(layout::SYNC_TRY_LOCK, layout::SYNC_TRY_LOCK_FAILED, false)
);
gives!(
    mutex_unlock,
    "pthread_mutex_unlock",
    c"pthread_mutex_unlock",
    sync::gives(layout::SYNC_UNLOCK)
);
takes!(
    spin_lock,
    "pthread_spin_lock",
    c"pthread_spin_lock",
    alone,
    sync::takes(layout::SYNC_LOCK, 0, true)
);
takes!(
    spin_trylock,
    "pthread_spin_trylock",
    c"pthread_spin_trylock",
    alone,
    sync::takes(layout::SYNC_TRY_LOCK, layout::SYNC_TRY_LOCK_FAILED, false)
);
gives!(
    spin_unlock,
    "pthread_spin_unlock",
    c"pthread_spin_unlock",
    sync::gives(layout::SYNC_UNLOCK)
);
takes!(
    rwlock_rdlock,
    "pthread_rwlock_rdlock",
    c"pthread_rwlock_rdlock",
    among_others,
    sync::shares(layout::SYNC_LOCK_SHARED, 0, true)
);
takes!(
    rwlock_wrlock,
    "pthread_rwlock_wrlock",
    c"pthread_rwlock_wrlock",
    alone,
    sync::takes(layout::SYNC_LOCK, 0, true)
);
takes!(
    rwlock_tryrdlock,
    "pthread_rwlock_tryrdlock",
    c"pthread_rwlock_tryrdlock",
    among_others,
    sync::shares(layout::SYNC_TRY_LOCK_SHARED, layout::SYNC_TRY_LOCK_SHARED_FAILED, false)
);
takes!(
    rwlock_trywrlock,
    "pthread_rwlock_trywrlock",
    c"pthread_rwlock_trywrlock",
    alone,
    sync::takes(layout::SYNC_TRY_LOCK, layout::SYNC_TRY_LOCK_FAILED, false)
);
gives!(
    rwlock_unlock,
    "pthread_rwlock_unlock",
    c"pthread_rwlock_unlock",
    sync::gives(layout::SYNC_UNLOCK)
);
