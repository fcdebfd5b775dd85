//! The heap of native code: what libraries allocate while the program is in a call of theirs (a `FILE`, the text of a
//! stream) lies at addresses that depend on those calls alone, not on what else this process allocated.
//!
//! Each size has a range of its own at a fixed address, and a bit a block says whether it is taken. The lowest free block is
//! given out, so that a run after one that gave all back finds the same addresses. Lock-free, because a call may be
//! given up in the middle of it ([`crate::guard::strike`]), and because what the program allocated may be freed by any native thread.
//!
//! Not here: blocks beyond [`LARGEST`], which the C library maps one by one; memory that libraries keep from run to run stays
//! where it is. Nothing is checked: native memory is used raw.

use std::ffi::c_void;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use unravel_code::layout::ARENA_END;

use crate::error::VmError;
use crate::guard;
use crate::memory::map;

/// Sizes up to this are multiples of 16; beyond, there are four to each doubling.
const FINE: u64 = 128;
const FINE_CLASSES: u64 = FINE / 16;
const LARGEST: u64 = 64 << 20;
const DOUBLINGS: u64 = (LARGEST / FINE).ilog2() as u64;
const CLASSES: usize = (FINE_CLASSES + 4 * DOUBLINGS) as usize;

/// The range of one size.
const RANGE: u64 = 4 << 30;
const BASE: u64 = (ARENA_END + RANGE).next_multiple_of(RANGE);
const END: u64 = BASE + CLASSES as u64 * RANGE;
/// The bits of one size: as many as the smallest blocks need.
const BITS: u64 = RANGE / 16 / 8;
const TAKEN: u64 = END + RANGE;

static READY: AtomicBool = AtomicBool::new(false);
/// No word of bits before this one has a free block.
static FULL_BEFORE: [AtomicU64; CLASSES] = [const { AtomicU64::new(0) }; CLASSES];

/// Maps the heap, once in a process: libraries may hold pointers into it when its machine is gone.
pub(crate) fn prepare() -> Result<(), VmError> {
    if !READY.load(Ordering::SeqCst) {
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        map(BASE, END - BASE, protection)?;
        map(TAKEN, CLASSES as u64 * BITS, protection)?;
        READY.store(true, Ordering::SeqCst);
    }
    Ok(())
}

fn class_of(bytes: u64) -> Option<usize> {
    let bytes = bytes.max(1);
    if bytes > LARGEST {
        return None;
    }
    let class = if bytes <= FINE {
        bytes.div_ceil(16) - 1
    } else {
        // The quarter of the doubling that the last byte lies in.
        let doubling = u64::from((bytes - 1).ilog2() - FINE.ilog2());
        let quarter = ((bytes - 1) >> (doubling + u64::from(FINE.ilog2()) - 2)) - 4;
        FINE_CLASSES + 4 * doubling + quarter
    };
    Some(class as usize)
}

fn size_of(class: usize) -> u64 {
    match class as u64 {
        fine @ ..FINE_CLASSES => (fine + 1) * 16,
        coarse => {
            let (doubling, quarter) = ((coarse - FINE_CLASSES) / 4, (coarse - FINE_CLASSES) % 4);
            (FINE << doubling) / 4 * (5 + quarter)
        }
    }
}

fn word(class: usize, index: u64) -> &'static AtomicU64 {
    debug_assert!(index * 8 < BITS);
    let address = TAKEN + class as u64 * BITS + index * 8;
    // SAFETY: mapped by `prepare`, before anyone gets here, and used only so.
    unsafe { AtomicU64::from_ptr(address as *mut u64) }
}

/// A block, or null if there is no room.
fn allocate(class: usize) -> u64 {
    let size = size_of(class);
    let blocks = RANGE / size;
    let first = FULL_BEFORE[class].load(Ordering::Relaxed);
    for index in first..blocks / 64 {
        let bits = word(class, index);
        let mut seen = bits.load(Ordering::Relaxed);
        while seen != u64::MAX {
            let bit = seen.trailing_ones();
            seen = bits.fetch_or(1 << bit, Ordering::AcqRel);
            if seen >> bit & 1 == 0 {
                return BASE + class as u64 * RANGE + (index * 64 + u64::from(bit)) * size;
            }
        }
        FULL_BEFORE[class].fetch_max(index + 1, Ordering::Relaxed);
    }
    0
}

/// The class and number of the block at an address; `None` if none begins there.
fn block_at(address: u64) -> Option<(usize, u64)> {
    let class = ((address - BASE) / RANGE) as usize;
    let offset = (address - BASE) % RANGE;
    offset.is_multiple_of(size_of(class)).then(|| (class, offset / size_of(class)))
}

/// Memory for a library that the program has called; null if it is somebody else who asks.
#[unsafe(no_mangle)]
extern "C" fn unravel_native_allocate(align: usize, bytes: usize) -> *mut c_void {
    if !guard::is_on_fiber() || guard::native_call().is_none() || !READY.load(Ordering::Relaxed) {
        return std::ptr::null_mut();
    }
    // A power of two begins at multiples of itself.
    let bytes = match align as u64 {
        ..=16 => bytes as u64,
        align => (bytes as u64).max(align).checked_next_power_of_two().unwrap_or(u64::MAX),
    };
    class_of(bytes).map_or(0, allocate) as *mut c_void
}

/// How many bytes there are at an address that this heap gave out; 0 for addresses of others.
#[unsafe(no_mangle)]
extern "C" fn unravel_native_size(pointer: *const c_void) -> usize {
    match pointer as u64 {
        address @ BASE..END => block_at(address).map_or(0, |(class, _)| size_of(class) as usize),
        _ => 0,
    }
}

/// Frees what this heap gave out; anything else in its range was never allocated, which the C library would abort for too.
#[unsafe(no_mangle)]
extern "C" fn unravel_native_free(pointer: *mut c_void) {
    let freed = block_at(pointer as u64).is_some_and(|(class, block)| {
        let bit = 1 << (block % 64);
        let was_taken = word(class, block / 64).fetch_and(!bit, Ordering::AcqRel) & bit != 0;
        FULL_BEFORE[class].fetch_min(block / 64, Ordering::Relaxed);
        was_taken
    });
    if !freed {
        // SAFETY: ends the process, or the run if one is going on.
        unsafe { libc::abort() };
    }
}

/// Whether an address is of this heap.
#[unsafe(no_mangle)]
extern "C" fn unravel_is_native_heap(pointer: *const c_void) -> i32 {
    i32::from((BASE..END).contains(&(pointer as u64)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_size_has_the_smallest_class_that_holds_it() {
        for class in 0..CLASSES {
            let size = size_of(class);
            assert_eq!(class_of(size), Some(class), "{size}");
            assert_eq!(size % 16, 0, "{size}");
            let next = class_of(size + 1);
            assert_eq!(next, (class + 1 < CLASSES).then_some(class + 1), "{size}");
        }
        assert_eq!(size_of(CLASSES - 1), LARGEST);
        assert_eq!(class_of(0), Some(0));
    }

    #[test]
    fn the_lowest_free_block_is_given_out() {
        prepare().expect("the heap is mapped");
        // A class that no other test uses.
        let class = class_of(3 << 20).expect("small enough");
        let blocks: Vec<u64> = (0..200).map(|_| allocate(class)).collect();
        assert!(blocks.windows(2).all(|pair| pair[1] == pair[0] + size_of(class)));
        for block in [150, 3, 77] {
            unravel_native_free(blocks[block] as *mut c_void);
        }
        let again: Vec<u64> = (0..4).map(|_| allocate(class)).collect();
        assert_eq!(again[..3], [blocks[3], blocks[77], blocks[150]]);
        assert_eq!(again[3], blocks[199] + size_of(class));
        assert_eq!(unravel_native_size(blocks[0] as *const c_void) as u64, size_of(class));
        assert_eq!(unravel_native_size((blocks[0] + 16) as *const c_void), 0);
    }
}
