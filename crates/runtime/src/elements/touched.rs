//! Accesses that may touch several elements, or of which only the address tells which: what they touch is locked together, in ascending order.

use super::owned::{append, hold, holds, release};
use super::{Slot, element, lose, slot, state};
use crate::vectors::{self, Element};

/// How many elements an access can touch; more are lost.
const MOST_TOUCHED: usize = 16;

/// Elements that an access touches, ascending, each once.
pub struct Touched {
    list: [u32; MOST_TOUCHED],
    count: usize,
}

impl Touched {
    pub const fn none() -> Touched {
        Touched { list: [0; MOST_TOUCHED], count: 0 }
    }

    fn add(&mut self, number: u32) {
        let list = (&raw mut self.list).cast::<u32>();
        // SAFETY: positions below the count, which is below the list's length.
        unsafe {
            let mut place = self.count;
            while place > 0 && *list.add(place - 1) > number {
                place -= 1;
            }
            if place > 0 && *list.add(place - 1) == number {
                return;
            }
            if self.count == MOST_TOUCHED {
                return lose(element(number));
            }
            let mut from = self.count;
            while from > place {
                *list.add(from) = *list.add(from - 1);
                from -= 1;
            }
            *list.add(place) = number;
            self.count += 1;
        }
    }

    #[inline(always)]
    pub fn each(&self, mut act: impl FnMut(*mut Element)) {
        let mut at = 0;
        while at < self.count {
            // SAFETY: below the count.
            act(element(unsafe { *(&raw const self.list).cast::<u32>().add(at) }));
            at += 1;
        }
    }

    pub fn enter(&self, me: *mut Slot) {
        // SAFETY: ascending, so that no two threads wait for each other.
        self.each(|element| unsafe {
            if hold(element, me) {
                append(element, me);
            }
        });
    }

    pub fn leave(&self, me: *mut Slot) {
        // SAFETY: elements of the table.
        self.each(|element| unsafe { release(element, me) });
    }

    /// An entry, where the access itself is done already or is one of the C library's.
    pub fn enter_and_leave(&self, me: *mut Slot) {
        self.enter(me);
        self.leave(me);
    }
}

/// The first range of a class that ends behind an address; ranges are sorted by class and start.
unsafe fn first_behind(class: u32, address: u64) -> usize {
    // SAFETY: positions are below the count.
    unsafe {
        let (mut low, mut high) = (0, (*state()).range_count);
        while low < high {
            let middle = (low + high) / 2;
            let range = &*(*state()).ranges.add(middle);
            match (range.class, range.end) < (class, address + 1) {
                true => low = middle + 1,
                false => high = middle,
            }
        }
        low
    }
}

/// What is touched at an address, by a site.
#[inline(always)]
pub unsafe fn resolve(touched: &mut Touched, address: u64, bytes: u64, class: u32, site: u32) {
    // SAFETY: the tables are the program's own, and the site one of it.
    unsafe {
        if in_globals(address) {
            return by_global(touched, address, bytes, class);
        }
        let state = state();
        let site = &*(*state).sites.add(site as usize);
        let mut at = 0;
        while at < site.count {
            touched.add(*(*state).lists.add((site.first + at) as usize));
            at += 1;
        }
    }
}

/// Between the first global of the program and its last there is nothing that has no name.
pub fn in_globals(address: u64) -> bool {
    // SAFETY: written before there are threads.
    unsafe { address.wrapping_sub(super::begin::low()) < super::begin::span() }
}

/// What an access to globals touches.
#[inline(never)]
pub unsafe fn by_global(touched: &mut Touched, address: u64, bytes: u64, class: u32) {
    // SAFETY: positions are below the count.
    unsafe {
        let (ranges, count) = ((*state()).ranges, (*state()).range_count);
        let end = address + if class == 0 { bytes } else { 1 };
        let mut at = first_behind(class, address);
        while at < count {
            let range = &*ranges.add(at);
            if range.class != class || range.start >= end {
                break;
            }
            touched.add(range.element);
            at += 1;
        }
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn __unravel_av_enter_at(address: u64, bytes: u64, site: u32) {
    let mut touched = Touched::none();
    // SAFETY: the program passes a site of its table. What is not there is not accessed: `free` of nothing.
    unsafe {
        if address != 0 && bytes != 0 {
            resolve(&mut touched, address, bytes, 0, site);
        }
    }
    touched.enter(slot());
}

#[unsafe(no_mangle)]
pub extern "C" fn __unravel_av_leave_at(address: u64, bytes: u64, site: u32) {
    let mut touched = Touched::none();
    // SAFETY: as above.
    unsafe {
        if address != 0 && bytes != 0 {
            resolve(&mut touched, address, bytes, 0, site);
        }
    }
    touched.leave(slot());
}

/// A copy reads there and writes here, in one step with the entries of both.
#[unsafe(no_mangle)]
pub extern "C" fn __unravel_av_enter_copy(from: u64, to: u64, bytes: u64, site: u32) {
    let (mut both, mut read, mut written) = (Touched::none(), Touched::none(), Touched::none());
    let me = slot();
    // SAFETY: as above.
    unsafe {
        if bytes == 0 {
            return;
        }
        resolve(&mut read, from, bytes, 0, site);
        resolve(&mut written, to, bytes, 0, site);
        resolve(&mut both, from, bytes, 0, site);
        resolve(&mut both, to, bytes, 0, site);
        both.each(|element| {
            hold(element, me);
        });
        let write = |element: *mut Element| {
            if holds(element, me) {
                append(element, me);
            }
        };
        read.each(write);
        written.each(write);
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn __unravel_av_leave_copy(from: u64, to: u64, bytes: u64, site: u32) {
    let mut both = Touched::none();
    // SAFETY: as above.
    unsafe {
        if bytes == 0 {
            return;
        }
        resolve(&mut both, from, bytes, 0, site);
        resolve(&mut both, to, bytes, 0, site);
    }
    both.leave(slot());
}

/// Whether a range is of data.
pub fn is_data(range: &vectors::Range) -> bool {
    range.class == 0
}
