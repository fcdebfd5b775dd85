//! Numbers and stamps for sync objects.
//!
//! An object gets a number when it is first used: its place in a table, by a hash of its address, for good. Its counter stands
//! there too: of two stamped operations on one object the smaller stamp came first. Who holds the object exclusively adds without an
//! atomic operation, for nobody else adds then; everybody else adds atomically. Objects that find no place share counters, and are
//! called by their addresses.
//!
//! An address that is used again for another object keeps number and counter, so stamps grow there too.

use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use crate::layout;
use crate::thread::Stream;

const PLACES: usize = layout::NUMBERED as usize;
/// So many places are tried.
const WAYS: usize = 4;
const SHARED: usize = 1024;

/// One a cache line: threads that hold different objects do not meet here.
#[repr(C, align(64))]
pub struct Place {
    /// The address; 0 until somebody takes the place.
    pub object: AtomicU64,
    /// The next stamp, minus [`FIRST`].
    pub next: AtomicU64,
    /// The first half of the record of a lock: mark, kind and number. It stands there before the address does.
    pub half: AtomicU32,
}

#[repr(align(64))]
struct Counter(AtomicU64);

/// All zero, so they take no room in the program's file.
pub static TABLE: [Place; PLACES] = [const {
    Place { object: AtomicU64::new(0), next: AtomicU64::new(0), half: AtomicU32::new(0) }
}; PLACES];
static COUNTERS: [Counter; SHARED] = [const { Counter(AtomicU64::new(0)) }; SHARED];

/// Stamps of operations are even, from 2 on; an odd one lies between two of them.
const FIRST: u64 = 2;
pub const STEP: u64 = 2;
/// A stamp after this one may soon need more than 32 bits.
pub const LAST_SHORT: u64 = (1 << 31) - 1;

/// The first place of an object is the product of its address and this, shifted.
pub const HASH: u32 = 0x9e37_79b1;
pub const SHIFT: u32 = u32::BITS - PLACES.trailing_zeros();

/// An object with its counter.
#[derive(Clone, Copy)]
pub struct Object {
    /// Its number, or its address.
    pub name: u64,
    counter: &'static AtomicU64,
    /// Nobody else's.
    own: bool,
}

fn hash(address: u64) -> u32 {
    (address as u32).wrapping_mul(HASH)
}

fn place(number: usize) -> &'static Place {
    // SAFETY: the number is masked to the table's size.
    unsafe { &*(&raw const TABLE).cast::<Place>().add(number & (PLACES - 1)) }
}

impl Object {
    #[inline(always)]
    pub fn of(address: u64) -> Object {
        let number = (hash(address) >> SHIFT) as usize;
        let first = place(number);
        match first.object.load(Ordering::Relaxed) == address {
            true => Object { name: number as u64, counter: &first.next, own: true },
            false => Object::search(address, number),
        }
    }

    #[cold]
    #[inline(never)]
    fn search(address: u64, number: usize) -> Object {
        for way in 0..WAYS {
            let number = (number ^ way) & (PLACES - 1);
            let place = place(number);
            let half = Stream::short(layout::SYNC_LOCK, number as u64, 0) as u32;
            place.half.store(half, Ordering::Relaxed);
            let taken =
                place.object.compare_exchange(0, address, Ordering::Release, Ordering::Relaxed);
            if taken.is_ok() || taken == Err(address) {
                return Object { name: number as u64, counter: &place.next, own: true };
            }
        }
        Object { name: address, counter: shared(address), own: false }
    }

    /// The stamp of an operation by who holds it alone.
    #[inline(always)]
    pub fn stamp_held(self) -> u64 {
        if !self.own {
            return self.stamp();
        }
        let next = self.counter.load(Ordering::Relaxed);
        self.counter.store(next + STEP, Ordering::Relaxed);
        next + FIRST
    }

    /// The stamp of an operation that others may do at the same time.
    #[inline(always)]
    pub fn stamp(self) -> u64 {
        self.counter.fetch_add(STEP, Ordering::Relaxed) + FIRST
    }

    /// Of an operation that did not get the object: after the last stamp, before the next.
    #[inline(always)]
    pub fn glance(self) -> u64 {
        self.counter.load(Ordering::Relaxed) + FIRST - 1
    }
}

fn shared(address: u64) -> &'static AtomicU64 {
    // SAFETY: ten bits are below the number of counters.
    unsafe { &(*(&raw const COUNTERS).cast::<Counter>().add((hash(address) >> 22) as usize)).0 }
}

/// The stamp of a thread's creation or end.
pub fn stamp_of_thread(number: u64) -> u64 {
    shared(number).fetch_add(STEP, Ordering::Relaxed) + FIRST
}
