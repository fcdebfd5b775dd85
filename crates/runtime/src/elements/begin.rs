//! Begin and end: a program tells its tables, the chosen elements get their vectors, threads their slots.

use super::owned::{FEWEST, grow};
use super::touched::is_data;
use super::{FULL, NOBODY, Slot, element, lose, state};
use crate::thread::Stream;
use crate::vectors::{self, Element, ElementEntry, Header, Range, Table};
use crate::{file, process, sys};

/// Where the globals of the program are; how many bytes, 0 until something is logged; by byte from there a number, and by that number
/// the element: 0 is none. The program's own code looks here for pointers that are known at run time only.
#[unsafe(no_mangle)]
static mut __unravel_av_low: u64 = 0;
#[unsafe(no_mangle)]
static mut __unravel_av_span: u64 = 0;
#[unsafe(no_mangle)]
static mut __unravel_av_bytes: *mut u32 = core::ptr::null_mut();
/// The same of where sync objects begin.
#[unsafe(no_mangle)]
static mut __unravel_av_objects: *mut u32 = core::ptr::null_mut();
#[unsafe(no_mangle)]
static mut __unravel_av_runs: *mut *mut Element = core::ptr::null_mut();

/// Globals may be spread so far: the table has four bytes for each of theirs, nearly none of them ever written.
const WIDEST: u64 = 4 << 30;
/// An access that begins in the last byte reads a little more of the table.
const SLACK: u64 = 4096;

pub unsafe fn low() -> u64 {
    // SAFETY: written before there are threads.
    unsafe { __unravel_av_low }
}

pub unsafe fn span() -> u64 {
    // SAFETY: as above.
    unsafe { __unravel_av_span }
}

/// A program that was built for a profile tells what it has. Runs before its constructors.
///
/// # Safety
/// The table and all that it refers to are the program's own.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __unravel_av_register(table: *const Table) {
    let chosen = process::variable(c"UNRAVEL_ELEMENTS");
    // SAFETY: by contract. Nobody else runs yet.
    unsafe {
        let state = state();
        let own = table;
        let table = &*table;
        if !file::recording() || chosen.is_null() || !(*state).map.is_null() {
            return;
        }
        let count = table.elements as usize;
        let slots = sys::pages((vectors::MOST_THREADS as usize + 1) * size_of::<Slot>());
        if count > vectors::MOST_ELEMENTS || slots.is_null() {
            return sys::say(c"unravel: too many elements; none is logged\n".as_ptr());
        }
        (*state).table = own;
        (*state).sites = table.site_table;
        (*state).lists = table.lists;
        (*state).slots = slots.cast();
        (*state).barriers = sys::ask_for_barriers();
        let vectors = each_chosen(chosen, table, |_, _| {});
        let Some((file, map)) =
            file::beside(vectors::VECTORS + u64::from(vectors) * vectors::STRIDE)
        else {
            return sys::say(c"unravel: there is no room for access vectors\n".as_ptr());
        };
        (*state).file = file;
        (*state).map = map;
        let header = map.cast::<Header>();
        let entries = map.add(vectors::ELEMENT_TABLE as usize).cast::<ElementEntry>();
        for number in 0..count {
            (*element(number as u32)).at = (&raw const FULL).cast_mut();
        }
        each_chosen(chosen, table, |number, slot| {
            let start = map.add((vectors::VECTORS + u64::from(slot) * vectors::STRIDE) as usize);
            let own = element(number as u32);
            (*own).entry = entries.add(number);
            (*own).end = start.cast();
            (*own).threshold = FEWEST;
            (*own).logged = 1;
            (*(*own).entry).slot = slot + 1;
            match grow(own) {
                true => (*own).at = start.cast(),
                false => lose(own),
            }
        });
        if !take_ranges(table) {
            (*state).map = core::ptr::null_mut();
            return sys::say(c"unravel: globals are too far apart; none is logged\n".as_ptr());
        }
        let mut site = 0;
        while site < table.sites as usize {
            let kind = (*table.site_table.add(site)).kind;
            if matches!(kind, vectors::SITE_SYNC | vectors::SITE_SYNC_BY_ADDRESS) {
                table.flags.add(site).write(logs(table, site));
            }
            site += 1;
        }
        (*header).version = vectors::VERSION;
        (*header).elements = count as u32;
        (*header).build = table.build;
        (&raw mut (*header).magic).write_volatile(vectors::MAGIC);
        let stream = Stream::current();
        if !stream.is_null() && (*stream).kept {
            thread_begins((*stream).number);
        }
    }
}

/// The calling thread logs under its number.
pub fn thread_begins(number: u32) {
    // SAFETY: the table has room for all numbers that an entry can hold; a number is one thread's.
    unsafe {
        let slots = (*state()).slots;
        if slots.is_null() || (*state()).map.is_null() || number > vectors::MOST_THREADS {
            return;
        }
        let own = slots.add(number as usize);
        (*own).number = number;
        sys::set_av_slot(own as usize);
    }
}

/// It has no stream any more: what it still accesses is lost.
pub fn thread_ends() {
    sys::set_av_slot((&raw mut super::__unravel_av_nobody) as usize);
}

/// The first thread that is created: from here on, data is logged.
pub fn threads_begin() {
    // SAFETY: only one thread lives; the tables are the program's own.
    unsafe {
        let state = state();
        if (*state).shared || (*state).map.is_null() {
            return;
        }
        (*state).shared = true;
        let table = &*(*state).table;
        let mut site = 0;
        while site < table.sites as usize {
            table.flags.add(site).write(logs(table, site));
            site += 1;
        }
    }
}

/// Whether any element that a site may touch is logged, and whether any of memory without a name.
unsafe fn logs(table: &Table, site: usize) -> u8 {
    // SAFETY: the table is the program's own.
    unsafe {
        let entry = &*table.site_table.add(site);
        let mut at = 0;
        while at < entry.count {
            if (*element(*table.lists.add((entry.first + at) as usize))).logged != 0 {
                return vectors::FLAG_ON | vectors::FLAG_UNNAMED;
            }
            at += 1;
        }
        let sync = match entry.kind {
            vectors::SITE_BY_ADDRESS => false,
            vectors::SITE_SYNC_BY_ADDRESS => true,
            _ => return 0,
        };
        let mut at = 0;
        while at < (*state()).range_count {
            let range = &*(*state()).ranges.add(at);
            if is_data(range) != sync && (*element(range.element)).logged != 0 {
                return vectors::FLAG_ON;
            }
            at += 1;
        }
        0
    }
}

/// Calls with each element that is asked for and can be logged, and with how many there were before it. Returns how many there are.
/// `all`, or numbers with commas between them.
unsafe fn each_chosen(
    text: *const core::ffi::c_char,
    table: &Table,
    mut act: impl FnMut(usize, u32),
) -> u32 {
    // SAFETY: the text ends with a zero; `logged` has an entry for each element.
    unsafe {
        let all = sys::strncmp(text, c"all".as_ptr(), 4) == 0;
        let mut slots = 0;
        let mut number = 0;
        while number < table.elements as usize {
            if *table.logged.add(number) != 0 && (all || is_listed(text, number as u64)) {
                act(number, slots);
                slots += 1;
            }
            number += 1;
        }
        slots
    }
}

unsafe fn is_listed(text: *const core::ffi::c_char, wanted: u64) -> bool {
    let mut at = text;
    // SAFETY: the text ends with a zero.
    unsafe {
        loop {
            let mut end = core::ptr::null_mut();
            let number = sys::strtoul(at, &mut end, 10);
            if !core::ptr::eq(end, at) && number == wanted {
                return true;
            }
            if *end as u8 != b',' {
                return false;
            }
            at = end.add(1);
        }
    }
}

/// Sorts the ranges of elements that are logged, by class and start, and notes by byte what data is where. False if that cannot be done.
unsafe fn take_ranges(table: &Table) -> bool {
    let count = table.ranges as usize;
    let ranges = sys::pages(count * size_of::<Range>() + 1).cast::<Range>();
    let runs = sys::pages((count + 1) * size_of::<*mut Element>()).cast::<*mut Element>();
    if ranges.is_null() || runs.is_null() {
        return false;
    }
    // SAFETY: both have that many.
    unsafe {
        let (mut first, mut behind, mut kept) = (u64::MAX, 0, 0);
        for at in 0..count {
            let range = &*table.range_table.add(at);
            if range.class == vectors::CLASS_GLOBAL {
                first = if range.start < first { range.start } else { first };
                behind = if range.end > behind { range.end } else { behind };
            } else if (*element(range.element)).logged != 0 {
                ranges.add(kept).write(*range);
                kept += 1;
            }
        }
        let key = |at: usize| ((*ranges.add(at)).class, (*ranges.add(at)).start);
        // Shell's sort: no recursion, no memory.
        let mut gap = kept / 2;
        while gap > 0 {
            for from in gap..kept {
                let mut at = from;
                while at >= gap && key(at - gap) > key(at) {
                    core::ptr::swap(ranges.add(at - gap), ranges.add(at));
                    at -= gap;
                }
            }
            gap /= 2;
        }
        let state = state();
        (*state).ranges = ranges;
        (*state).range_count = kept;
        if behind <= first {
            return true;
        }
        let bytes = behind - first;
        if bytes > WIDEST {
            return false;
        }
        let map = sys::pages(((bytes + SLACK) * 4) as usize).cast::<u32>();
        let objects = sys::pages(((bytes + SLACK) * 4) as usize).cast::<u32>();
        if map.is_null() || objects.is_null() {
            return false;
        }
        for at in 0..kept {
            let range = &*ranges.add(at);
            runs.add(at + 1).write(element(range.element));
            if !is_data(range) {
                let object = objects.add((range.start - first) as usize);
                let other = *object != 0 && *runs.add(*object as usize) != element(range.element);
                // Two elements by the size of the object: the runtime looks.
                object.write(if other { 0 } else { at as u32 + 1 });
                if other {
                    (*state).ambiguous = true;
                }
            } else {
                for byte in range.start - first..range.end - first {
                    map.add(byte as usize).write(at as u32 + 1);
                }
            }
        }
        __unravel_av_low = first;
        __unravel_av_objects = if (*state).ambiguous { core::ptr::null_mut() } else { objects };
        __unravel_av_bytes = map;
        __unravel_av_runs = runs;
        __unravel_av_span = bytes;
    }
    true
}

/// The child of a fork logs nothing: the vectors are its parent's.
pub fn forget() {
    // SAFETY: the child has one thread.
    unsafe {
        let state = state();
        if !(*state).table.is_null() {
            for number in 0..(*(*state).table).elements as u32 {
                let own = element(number);
                (*own).owner = core::ptr::null_mut();
                (*own).lock = 0;
                (*own).entry = core::ptr::null_mut();
                lose(own);
            }
        }
        (*state).map = core::ptr::null_mut();
        (*state).shared = false;
    }
    thread_ends();
}

const _: () = assert!(NOBODY > vectors::MOST_THREADS);
