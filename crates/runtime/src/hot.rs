//! Sync operations as recorded code calls them most: with the log's pointer in r12, and back.
//!
//! By hand, because they are the most frequent calls there are: where nothing unusual happens (object known, room in the segment, success)
//! there is one call, that of the C library, and the thread-local pointer is not touched. Everything unusual goes the way of `sync.rs`, with the pointer put
//! where that looks for it. Where paths alone are recorded, only the mark that the call returned is written.

use core::arch::global_asm;
use core::ffi::{c_int, c_void};
use core::mem::offset_of;
use core::sync::atomic::{AtomicBool, Ordering};

use crate::layout;
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

/// Whether all of them are found: before that, streams send everything the slow way.
static READY: AtomicBool = AtomicBool::new(false);

pub fn is_ready() -> bool {
    READY.load(Ordering::Relaxed)
}

/// How each begins: the object's place goes to `$place`, the first half of a lock's record to eax. Leaves for 7 where sync operations are not recorded
/// or the segment is full, and for 8 where the object is not where it is looked for first.
macro_rules! enter {
    ($place:literal) => {
        concat!(
            "cmp r12, qword ptr fs:[__unravel_records@TPOFF]
            ja 7f
            imul eax, edi, {hash}
            shr eax, {shift}
            and eax, {aligned}
            lea ",
            $place,
            ", [rip + {table}]
            add ",
            $place,
            ", rax
            cmp qword ptr [",
            $place,
            " + {object}], rdi
            jne 8f
            mov eax, dword ptr [",
            $place,
            " + {half}]"
        )
    };
}

/// Goes on at 5 if only marks are written, calls nothing but the C library's function if nothing is kept, and goes the way of `sync.rs` else.
macro_rules! unrecorded {
    () => {
        "7: mov rax, qword ptr fs:[__unravel_stream@TPOFF]
        test rax, rax
        je 8f
        cmp r12, qword ptr [rax + {marks}]
        jbe 5f
        cmp byte ptr [rax + {kept}], 0
        jne 8f
        mov rax, qword ptr [rip + {real} + {address}]
        test rax, rax
        je 8f"
    };
}

/// The way of `sync.rs`, from the beginning; from 6 with the result in edx.
macro_rules! slowly {
    () => {
        "mov rdx, {not_yet}
        6: mov rsi, r12
        call {slowly}
        mov r12, rdx
        pop rbx
        .cfi_def_cfa_offset 8
        ret"
    };
}

/// The next stamp instead of the last one in rdx, and in the place at rbx: by who holds the object alone, and by one of several.
macro_rules! alone {
    () => {
        "add rdx, {step}
        mov qword ptr [rbx + {next}], rdx"
    };
}
macro_rules! among_others {
    () => {
        "mov edx, {step}
        lock xadd qword ptr [rbx + {next}], rdx
        add rdx, {step}"
    };
}

/// Recorded code calls it by `$called`; `$text` is what it does.
macro_rules! function {
    ($called:literal, $real:literal, $kind:expr, [$($text:expr),*], $($operand:ident = $value:expr),*) => {
        pub static REAL: Real = Real::new($real);
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
            $($text,)*
            ".cfi_endproc",
            concat!(".size __unravel_r_", $called, ", . - __unravel_r_", $called),
            slowly = sym slowly,
            real = sym REAL,
            table = sym objects::TABLE,
            address = const offset_of!(Real, address),
            marks = const offset_of!(Stream, marks),
            kept = const offset_of!(Stream, kept),
            hash = const objects::HASH as i32,
            shift = const objects::SHIFT - size_of::<Place>().trailing_zeros(),
            aligned = const -(size_of::<Place>() as i64),
            object = const offset_of!(Place, object),
            half = const offset_of!(Place, half),
            returned = const layout::RETURN,
            not_yet = const NOT_YET as i64,
            $($operand = const $value,)*
        );
    };
}

/// What turns the first half of a lock's record into that of another one.
const fn other(mark: u8, kind: u8) -> u32 {
    (mark ^ layout::SYNC_SHORT) as u32 | ((kind ^ layout::SYNC_LOCK) as u32) << 8
}

/// What an operation that takes an object does: writes the first half of its record, which says what it waits for, calls, and writes the other half, the stamp.
macro_rules! takes {
    ($name:ident, $called:literal, $real:literal, $stamp:ident, $kind:expr) => {
        mod $name {
            use super::*;

            function!(
                $called,
                $real,
                $kind,
                [
                    "push rbx
                    .cfi_def_cfa_offset 16
                    .cfi_offset rbx, -16",
                    enter!("rbx"),
                    ".if {other}
                    xor eax, {other}
                    .endif
                    mov dword ptr [r12], eax
                    call qword ptr [rip + {real} + {address}]
                    test eax, eax
                    jne 9f
                    mov rdx, qword ptr [rbx + {next}]
                    cmp rdx, {most}
                    ja 9f",
                    $stamp!(),
                    "mov dword ptr [r12 + 4], edx
                    add r12, {bytes}
                    pop rbx
                    .cfi_remember_state
                    .cfi_def_cfa_offset 8
                    ret
                    .cfi_restore_state",
                    unrecorded!(),
                    "pop rbx
                    .cfi_remember_state
                    .cfi_def_cfa_offset 8
                    jmp rax
                    .cfi_restore_state
                    5: call qword ptr [rip + {real} + {address}]
                    mov byte ptr [r12], {returned}
                    inc r12
                    pop rbx
                    .cfi_remember_state
                    .cfi_def_cfa_offset 8
                    ret
                    .cfi_restore_state
                    9: mov dword ptr [r12], 0
                    mov rdi, qword ptr [rbx + {object}]
                    mov edx, eax
                    jmp 6f
                    8:",
                    slowly!()
                ],
                next = offset_of!(Place, next),
                step = objects::STEP,
                most = objects::LAST_SHORT,
                other = other(layout::SYNC_SHORT, KIND.done),
                bytes = layout::SYNC_SHORT_BYTES
            );
        }
    };
}

/// What one that gives it back does: writes a record without a stamp, and goes on as the C library's function, which does not wait.
macro_rules! gives {
    ($name:ident, $called:literal, $real:literal, $kind:expr) => {
        mod $name {
            use super::*;

            function!(
                $called,
                $real,
                $kind,
                [
                    enter!("rcx"),
                    "xor eax, {other}
                    mov dword ptr [r12], eax
                    add r12, {bytes}
                    jmp qword ptr [rip + {real} + {address}]",
                    unrecorded!(),
                    "jmp rax
                    5: mov byte ptr [r12], {returned}
                    inc r12
                    jmp qword ptr [rip + {real} + {address}]
                    8: push rbx
                    .cfi_def_cfa_offset 16
                    .cfi_offset rbx, -16",
                    slowly!()
                ],
                other = other(layout::SYNC_BARE, KIND.before),
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

/// An unlock whose object a reader infers: nothing but the C library's function, past the runtime's own of that name.
macro_rules! unrecorded_unlock {
    ($name:ident, $module:ident, $called:literal) => {
        mod $name {
            use super::*;

            #[cold]
            extern "C" fn first(object: *mut c_void) -> c_int {
                // SAFETY: the address is that of the C library's function, which takes the object alone.
                unsafe {
                    let real: unsafe extern "C" fn(*mut c_void) -> c_int =
                        core::mem::transmute($module::REAL.get());
                    real(object)
                }
            }

            global_asm!(
                ".text",
                concat!(".globl __unravel_q_", $called),
                concat!(".type __unravel_q_", $called, ",@function"),
                ".p2align 4",
                concat!("__unravel_q_", $called, ":"),
                ".cfi_startproc
                mov rax, qword ptr [rip + {real} + {address}]
                test rax, rax
                je {first}
                jmp rax
                .cfi_endproc",
                concat!(".size __unravel_q_", $called, ", . - __unravel_q_", $called),
                real = sym $module::REAL,
                address = const offset_of!(Real, address),
                first = sym first,
            );
        }
    };
}

unrecorded_unlock!(mutex_unlock_unrecorded, mutex_unlock, "pthread_mutex_unlock");
unrecorded_unlock!(spin_unlock_unrecorded, spin_unlock, "pthread_spin_unlock");
unrecorded_unlock!(rwlock_unlock_unrecorded, rwlock_unlock, "pthread_rwlock_unlock");

/// Finds the C library's functions, if it has them all.
pub fn prepare() {
    let all = [
        &mutex_lock::REAL,
        &mutex_trylock::REAL,
        &mutex_unlock::REAL,
        &spin_lock::REAL,
        &spin_trylock::REAL,
        &spin_unlock::REAL,
        &rwlock_rdlock::REAL,
        &rwlock_wrlock::REAL,
        &rwlock_tryrdlock::REAL,
        &rwlock_trywrlock::REAL,
        &rwlock_unlock::REAL,
    ];
    READY.store(all.iter().all(|real| real.is_there()), Ordering::Relaxed);
}
