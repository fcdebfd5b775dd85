//! Access vectors of the elements that this process was told to log: which thread accessed each, in order (CoopREP, thesis §3.1).
//!
//! An element has a vector of its own in a file that the kernel shares, and one thread at a time may write it (`owned.rs`): its entry and its
//! access are one step, for reads as for writes. Nothing is shared between elements. What is usual stands in line in the program
//! (`crates/instrument/src/elements/template.ll`); here is the rest: elements that change hands, pointers that may point to several (`touched.rs`),
//! sync operations (`calls.rs`), begin and end (`begin.rs`). A call that may block is no step: its entry is written when it has got the
//! object, which nobody else has then.
//!
//! *Not modelled*: a condition wait's entry comes before the wait itself; a signal that is sent in between, without the mutex, is logged after it.
//! What cannot be logged any more (no room, a signal handler that meets the access it interrupted, an access that was left by a jump) makes
//! its element *lost*, and says so in the file: readers leave it out.

mod begin;
mod calls;
mod owned;
mod touched;

use core::ffi::c_int;

use crate::sys;
use crate::vectors::{self, Element, Range, SiteEntry, Table};

pub use begin::{forget, thread_begins, thread_ends, threads_begin};

const NOBODY: u32 = u32::MAX;

/// A thread, one a cache line.
#[repr(C, align(64))]
pub struct Slot {
    /// The element that it is at as its owner; 0 if at none. Only the thread itself writes it, and the program's own code does, so it comes first.
    hazard: u64,
    /// The same of an access to several elements, which is begun and ended here.
    more: [u64; MORE],
    /// The thread's, or [`NOBODY`].
    number: u32,
}

/// How many elements a thread can be at as their owner, besides one.
const MORE: usize = 4;

/// All threads of which nothing is kept, and all of a process that logs nothing.
#[unsafe(no_mangle)]
static mut __unravel_av_nobody: Slot = Slot { hazard: 0, more: [0; MORE], number: NOBODY };

struct State {
    file: c_int,
    map: *mut u8,
    table: *const Table,
    sites: *const SiteEntry,
    lists: *const u32,
    /// One a thread.
    slots: *mut Slot,
    /// Parts of globals, by class and start: of data and of sync objects.
    ranges: *mut Range,
    range_count: usize,
    /// The kernel puts barriers into other threads.
    barriers: bool,
    /// Sync objects of different sizes begin at one place and are different elements.
    ambiguous: bool,
    /// A second thread was created: what came before nobody shares, and only sync operations are logged of it, as the machine does.
    shared: bool,
}

static mut STATE: State = State {
    file: -1,
    map: core::ptr::null_mut(),
    table: core::ptr::null(),
    sites: core::ptr::null(),
    lists: core::ptr::null(),
    slots: core::ptr::null_mut(),
    ranges: core::ptr::null_mut(),
    range_count: 0,
    barriers: false,
    ambiguous: false,
    shared: false,
};

fn state() -> *mut State {
    &raw mut STATE
}

/// The calling thread.
#[inline(always)]
fn slot() -> *mut Slot {
    sys::av_slot() as *mut Slot
}

/// Of the program's table. Only while there is one.
fn element(number: u32) -> *mut Element {
    // SAFETY: numbers are those of the program's own tables.
    unsafe { (*(*state()).table).element_table.add(number as usize) }
}

/// An entry that is full, so that the program's code asks here. Nobody writes it.
static FULL: u32 = vectors::ENTRY_MOST;

fn element_is_lost(element: *mut Element) -> bool {
    // SAFETY: elements live as long as the process.
    unsafe { (&raw const (*element).logged).read_volatile() == 0 }
}

/// From here on the element is not logged, and its vector does not count.
#[cold]
unsafe fn lose(element: *mut Element) {
    // SAFETY: the entry is mapped if the element was ever logged.
    unsafe {
        if !(*element).entry.is_null() {
            (&raw mut (*(*element).entry).lost).write_volatile(1);
        }
        (&raw mut (*element).logged).write_volatile(0);
        (&raw mut (*element).at).write_volatile((&raw const FULL).cast_mut());
    }
}
