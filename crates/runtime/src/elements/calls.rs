//! Sync operations whose object is known at run time only, or that do more than take one object.

use core::ffi::c_int;

use super::touched::{Touched, by_global, in_globals, resolve};
use super::{NOBODY, Slot, lose, slot, state};
use crate::sys;
use crate::thread::Stream;
use crate::vectors;

/// The numbers of `crates/instrument/src/elements/calls.rs`.
const AROUND: u32 = 1;
const AFTER: u32 = 2;
const WAIT: u32 = 3;
const BARRIER: u32 = 4;
const GIVES: u32 = 5;
const TAKES: u32 = 6;
const TRIES: u32 = 7;
const MUTEX_BYTES: u32 = 40;

/// Where a thread waits, for who looks at a run that hangs; 0 if it does not.
unsafe fn waits_at(me: *mut Slot, place: u32) {
    // SAFETY: the table has room for all threads.
    unsafe {
        if (*me).number != NOBODY && !(*state()).map.is_null() {
            let blocked = (*state()).map.add(vectors::BLOCKED as usize).cast::<u32>();
            blocked.add((*me).number as usize).write_volatile(place);
        }
    }
}

/// The thread is about to wait there, or (0) does not wait any more.
#[unsafe(no_mangle)]
pub extern "C" fn __unravel_av_waits(place: u32) {
    // SAFETY: the slot is this thread's.
    unsafe { waits_at(slot(), place) };
}

/// What the thread has of semaphores and barriers: giving it back is implied by the next one who takes it.
fn takes(object: u64, element_of: &Touched) {
    let stream = Stream::current();
    if stream.is_null() {
        return;
    }
    // SAFETY: the stream is this thread's; positions are below the list's length.
    unsafe {
        let list = (&raw mut (*stream).holds).cast::<u64>();
        let mut free = usize::MAX;
        for at in 0..crate::thread::HOLDS {
            match *list.add(at) {
                known if known == object => return,
                0 => free = at,
                _ => {}
            }
        }
        match free {
            usize::MAX => element_of.each(|element| lose(element)),
            free => *list.add(free) = object,
        }
    }
}

/// Whether the thread had it.
fn gives(object: u64) -> bool {
    let stream = Stream::current();
    if stream.is_null() {
        return false;
    }
    // SAFETY: as above.
    unsafe {
        let list = (&raw mut (*stream).holds).cast::<u64>();
        for at in 0..crate::thread::HOLDS {
            if *list.add(at) == object {
                *list.add(at) = 0;
                return true;
            }
        }
    }
    false
}

/// Before a sync operation on an object; `what` is its kind, and the size of the object above.
#[unsafe(no_mangle)]
pub extern "C" fn __unravel_av_before(what: u32, object: u64, _other: u64, site: u32) {
    let (kind, class) = (what & 0xff, what >> 8);
    // SAFETY: the program passes a site of its table.
    unsafe {
        if (*state()).map.is_null() {
            return;
        }
        let me = slot();
        if !matches!(kind, AROUND | GIVES | TRIES) {
            waits_at(me, (*(*state()).sites.add(site as usize)).place + 1);
        }
        if !matches!(kind, AROUND | TRIES | GIVES | WAIT | BARRIER) {
            return;
        }
        let mut touched = Touched::none();
        if object != 0 {
            resolve(&mut touched, object, 1, class, site);
        }
        match kind {
            AROUND | TRIES => touched.enter(me),
            GIVES if !gives(object) => touched.enter(me),
            WAIT => touched.enter_and_leave(me),
            BARRIER => {
                gives(object);
                touched.enter_and_leave(me);
            }
            _ => {}
        }
    }
}

/// After it.
#[unsafe(no_mangle)]
pub extern "C" fn __unravel_av_after(what: u32, object: u64, other: u64, site: u32, result: c_int) {
    let (kind, class) = (what & 0xff, what >> 8);
    // SAFETY: as above.
    unsafe {
        if (*state()).map.is_null() {
            return;
        }
        let me = slot();
        if !matches!(kind, AROUND | GIVES | TRIES) {
            waits_at(me, 0);
        }
        let mut touched = Touched::none();
        if object != 0 {
            resolve(&mut touched, object, 1, class, site);
        }
        match kind {
            AROUND | GIVES => touched.leave(me),
            TRIES => {
                touched.leave(me);
                takes(object, &touched);
            }
            AFTER if result != 0 && result != sys::EOWNERDEAD => {}
            AFTER if class == MUTEX_BYTES && taken_again(object) => {}
            AFTER => touched.enter_and_leave(me),
            TAKES if result == 0 => {
                touched.enter_and_leave(me);
                takes(object, &touched);
            }
            WAIT => {
                // Who wakes has the mutex again.
                if in_globals(other) {
                    by_global(&mut touched, other, 1, MUTEX_BYTES);
                }
                touched.enter_and_leave(me);
            }
            BARRIER => {
                touched.enter_and_leave(me);
                takes(object, &touched);
            }
            _ => {}
        }
    }
}

/// A recursive mutex that this thread had already: as glibc has it, the count is the second word and the kind the fifth.
unsafe fn taken_again(mutex: u64) -> bool {
    const RECURSIVE: u32 = 1;
    let words = mutex as *const u32;
    // SAFETY: the thread has just locked it.
    unsafe { *words.add(4) & 3 == RECURSIVE && *words.add(1) > 1 }
}
