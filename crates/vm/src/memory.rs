//! The arena: one mapping at a fixed address that holds everything the program owns.
//!
//! Each thread slot has its own heap region and stack, so that an address does not depend on how
//! allocations of different threads interleave. A shadow byte for every eight bytes says how many of
//! them are valid; between objects lie red zones. Freed memory is not reused until a region is half
//! full, so a use after free is noticed.
//!
//! Not modelled: bounds of one local within a frame's memory, and of members within an object.
//! Memory outside the arena belongs to native libraries and is used as it is.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicPtr, Ordering};

use rustc_hash::FxHashMap;
use unravel_code::layout::*;
use unravel_code::names::TypeId;
use unravel_trace::SiteId;

use crate::error::VmError;

/// Every byte of this granule of eight is valid.
const VALID: u8 = 8;
/// The granule belonged to an object that was freed.
const FREED: u8 = 0x80;
/// Addresses below this are null plus a small offset.
pub(crate) const NULL_PAGE: u64 = 1 << 16;
/// Above this many bytes, memory is given back to the system instead of being zeroed.
const LARGE: usize = 1 << 20;

/// A heap object, alive or freed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HeapObject {
    pub address: u64,
    pub bytes: u64,
    pub allocated_at: SiteId,
    /// What it is, if the source says.
    pub ty: Option<TypeId>,
    /// Who freed it, and where.
    pub freed: Option<(u32, SiteId)>,
}

/// One slot's heap.
#[derive(Debug, Default)]
struct Region {
    /// First address never handed out.
    top: u64,
    /// Sorted by address.
    objects: Vec<HeapObject>,
    /// Freed addresses by rounded size, oldest first; used only when the region runs low.
    free: FxHashMap<u64, VecDeque<u64>>,
}

/// What is wrong with an access.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Fault {
    Null,
    OutOfBounds,
    Freed,
    DeadStack,
}

/// What is wrong with a `free`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum BadFree {
    Double,
    NotAllocated,
}

#[derive(Debug)]
pub(crate) struct Memory {
    /// Shadow of the arena, a byte a granule.
    live: *mut u8,
    regions: Vec<Region>,
    /// First dead byte of each slot's stack: frames grow upwards.
    pub stack_top: Vec<u64>,
    /// Highest value `stack_top` had in this run, to know what to clear.
    stack_high: Vec<u64>,
    /// The slots used in this run.
    slots_used: Vec<usize>,
    image: Vec<u8>,
}

pub(crate) fn map(address: u64, bytes: u64, protection: i32) -> Result<*mut u8, VmError> {
    let fixed = if address == 0 { 0 } else { libc::MAP_FIXED_NOREPLACE };
    // SAFETY: an anonymous mapping; with MAP_FIXED_NOREPLACE it never replaces another one.
    let at = unsafe {
        libc::mmap(
            address as *mut _,
            bytes as usize,
            protection,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | fixed,
            -1,
            0,
        )
    };
    if at == libc::MAP_FAILED || (address != 0 && at as u64 != address) {
        return Err(VmError::Map { bytes, source: std::io::Error::last_os_error() });
    }
    Ok(at.cast())
}

/// Zeroes memory of ours, giving large ranges back to the system.
///
/// # Safety
/// `at..at + bytes` is mapped, private and anonymous.
unsafe fn clear(at: *mut u8, bytes: usize) {
    if bytes <= LARGE {
        // SAFETY: per the contract.
        unsafe { at.write_bytes(0, bytes) };
    } else {
        let start = (at as usize).next_multiple_of(4096);
        let end = (at as usize + bytes) & !4095;
        // SAFETY: per the contract; the pages given back lie within, and read as zero again.
        unsafe {
            at.write_bytes(0, start - at as usize);
            libc::madvise(start as *mut _, end - start, libc::MADV_DONTNEED);
            (end as *mut u8).write_bytes(0, at as usize + bytes - end);
        }
    }
}

/// Gives a mapping back.
///
/// # Safety
/// `map` made it, of this size, and nobody uses it any more.
pub(crate) unsafe fn unmap<T>(at: *mut T, bytes: u64) {
    // SAFETY: per the contract.
    unsafe { libc::munmap(at.cast(), bytes as usize) };
}

/// Maps the arena, and returns its shadow. Both stay mapped for as long as the process lives: native libraries may hold
/// pointers into the arena when its machine is gone. The next machine finds them empty.
fn arena() -> Result<*mut u8, VmError> {
    static SHADOW: AtomicPtr<u8> = AtomicPtr::new(std::ptr::null_mut());
    let shadow = SHADOW.load(Ordering::SeqCst);
    if !shadow.is_null() {
        // SAFETY: mapped below. There is one machine at a time, and the last one is gone.
        unsafe {
            clear(ARENA_BASE as *mut u8, ARENA_SIZE as usize);
            clear(shadow, (ARENA_SIZE / 8) as usize);
        }
        return Ok(shadow);
    }
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    map(ARENA_BASE, GLOBALS - ARENA_BASE, protection | libc::PROT_EXEC)?;
    map(GLOBALS, ARENA_END - GLOBALS, protection)?;
    let shadow = map(unravel_code::layout::SHADOW, ARENA_SIZE / 8, protection)?;
    crate::native_heap::prepare()?;
    SHADOW.store(shadow, Ordering::SeqCst);
    Ok(shadow)
}

impl Memory {
    /// The memory of the one machine of this process.
    pub fn new(image: &[u8], globals: impl Iterator<Item = (u64, u64)>) -> Result<Memory, VmError> {
        let mut memory = Memory {
            live: arena()?,
            regions: (0..SLOTS).map(|_| Region::default()).collect(),
            stack_top: (0..SLOTS).map(|slot| STACKS + slot * STACK_SIZE).collect(),
            stack_high: (0..SLOTS).map(|slot| STACKS + slot * STACK_SIZE).collect(),
            slots_used: Vec::new(),
            image: image.to_vec(),
        };
        for (slot, region) in memory.regions.iter_mut().enumerate() {
            region.top = HEAPS + slot as u64 * HEAP_SIZE + 16;
        }
        for (address, bytes) in globals {
            memory.mark(address, bytes);
        }
        memory.restore_globals();
        Ok(memory)
    }

    /// Forgets the run: heaps and stacks are zero again, globals have their initial values.
    pub fn reset(&mut self) {
        for slot in std::mem::take(&mut self.slots_used) {
            let region = &mut self.regions[slot];
            let base = HEAPS + slot as u64 * HEAP_SIZE;
            if region.top > base + 16 {
                let used = (region.top - base) as usize;
                // SAFETY: the slot's own region, below what was handed out, and its shadow.
                unsafe {
                    clear(base as *mut u8, used);
                    clear(self.live.add(((base - ARENA_BASE) / 8) as usize), used / 8 + 1);
                }
                region.top = base + 16;
                region.objects.clear();
                region.free.clear();
            }
            let stack = STACKS + slot as u64 * STACK_SIZE;
            let high = self.stack_high[slot].max(self.stack_top[slot]);
            if high > stack {
                // SAFETY: within the slot's own stack. Frames may have written a little beyond
                // their end (native callees get a margin), hence the slack.
                unsafe {
                    clear(stack as *mut u8, ((high - stack + 4096).min(STACK_SIZE)) as usize)
                };
                self.stack_top[slot] = stack;
                self.stack_high[slot] = stack;
            }
        }
        self.restore_globals();
    }

    fn restore_globals(&mut self) {
        // SAFETY: the image fits below GLOBALS_MAX, checked by lowering; the arena is ours.
        unsafe {
            std::ptr::copy_nonoverlapping(
                self.image.as_ptr(),
                GLOBALS as *mut u8,
                self.image.len(),
            );
        }
    }

    fn shadow(&self, address: u64) -> *mut u8 {
        // SAFETY: callers pass arena addresses only; the shadow covers the arena.
        unsafe { self.live.add(((address - ARENA_BASE) >> 3) as usize) }
    }

    fn mark(&mut self, address: u64, bytes: u64) {
        let at = self.shadow(address);
        // SAFETY: as for `shadow`.
        unsafe {
            at.write_bytes(VALID, (bytes / 8) as usize);
            if !bytes.is_multiple_of(8) {
                *at.add((bytes / 8) as usize) = (bytes % 8) as u8;
            }
        }
    }

    /// The common case of [`Memory::check`]: an access within one valid granule.
    #[inline(always)]
    pub fn is_plain(&self, address: u64, bytes: u64) -> bool {
        let offset = address.wrapping_sub(ARENA_BASE);
        // SAFETY: `offset` is inside the arena, which the shadow covers.
        offset < ARENA_SIZE
            && (address & 7) + bytes <= 8
            && unsafe { *self.live.add((offset >> 3) as usize) } == VALID
    }

    /// Whether `bytes` bytes at `address` may be accessed.
    pub fn check(&self, address: u64, bytes: u64) -> Result<(), Fault> {
        if address < NULL_PAGE {
            return Err(Fault::Null);
        }
        if !(ARENA_BASE..ARENA_END).contains(&address) {
            return Ok(());
        }
        if (STACKS..STACKS + SLOTS * STACK_SIZE).contains(&address) {
            let slot = (address - STACKS) / STACK_SIZE;
            return if address + bytes <= self.stack_top[slot as usize] {
                Ok(())
            } else {
                Err(Fault::DeadStack)
            };
        }
        if bytes == 0 {
            return Ok(());
        }
        let end = address + bytes;
        if end > ARENA_END {
            return Err(Fault::OutOfBounds);
        }
        let mut granule = address & !7;
        // SAFETY: eight granules inside the arena.
        let all_valid = |granule| unsafe { self.shadow(granule).cast::<u64>().read_unaligned() };
        while end - granule >= 64 && all_valid(granule) == u64::from_ne_bytes([VALID; 8]) {
            granule += 64;
        }
        while granule < end {
            // SAFETY: inside the arena.
            let state = unsafe { *self.shadow(granule) };
            let needed = (end - granule).min(8) as u8;
            if state == FREED {
                return Err(Fault::Freed);
            }
            if state < needed {
                return Err(Fault::OutOfBounds);
            }
            granule += 8;
        }
        Ok(())
    }

    /// Allocates from a slot's region; 0 if it is full.
    pub fn allocate(
        &mut self,
        slot: usize,
        bytes: u64,
        align: u64,
        (site, ty): (SiteId, Option<TypeId>),
    ) -> u64 {
        let end = HEAPS + (slot as u64 + 1) * HEAP_SIZE;
        let rounded = bytes.max(1).next_multiple_of(16);
        let region = &mut self.regions[slot];
        let address = region.top.next_multiple_of(align.max(16));
        let low = region.top > end - HEAP_SIZE / 2;
        if low
            && align <= 16
            && let Some(list) = region.free.get_mut(&rounded)
            && let Some(address) = list.pop_front()
        {
            let index = region.objects.partition_point(|o| o.address < address);
            region.objects[index] =
                HeapObject { address, bytes, allocated_at: site, ty, freed: None };
            // SAFETY: the memory of a freed object of the same rounded size.
            unsafe { (address as *mut u8).write_bytes(0, rounded as usize) };
            self.mark(address, bytes);
            return address;
        }
        if rounded > HEAP_SIZE || address + rounded + RED_ZONE > end {
            return 0;
        }
        region.top = address + rounded + RED_ZONE;
        region.objects.push(HeapObject { address, bytes, allocated_at: site, ty, freed: None });
        self.mark(address, bytes);
        address
    }

    /// Frees the object at `address` (which is in the arena).
    pub fn free(&mut self, address: u64, thread: u32, site: SiteId) -> Result<u64, BadFree> {
        let Some((slot, index)) = self.heap_index(address) else {
            return Err(BadFree::NotAllocated);
        };
        let region = &mut self.regions[slot];
        let object = &mut region.objects[index];
        if object.address != address {
            return Err(BadFree::NotAllocated);
        }
        if object.freed.is_some() {
            return Err(BadFree::Double);
        }
        object.freed = Some((thread, site));
        let bytes = object.bytes;
        let rounded = bytes.max(1).next_multiple_of(16);
        region.free.entry(rounded).or_default().push_back(address);
        let at = self.shadow(address);
        // SAFETY: the object's own shadow.
        unsafe { at.write_bytes(FREED, (rounded / 8) as usize) };
        Ok(bytes)
    }

    fn heap_index(&self, address: u64) -> Option<(usize, usize)> {
        if !(HEAPS..ARENA_END).contains(&address) {
            return None;
        }
        let slot = ((address - HEAPS) / HEAP_SIZE) as usize;
        let after = self.regions[slot].objects.partition_point(|o| o.address <= address);
        Some((slot, after.checked_sub(1)?))
    }

    /// The heap object at or before `address`, its slot and its number there: the one an access to
    /// `address` was most likely meant for.
    pub fn heap_object(&self, address: u64) -> Option<(usize, usize, HeapObject)> {
        let (slot, index) = self.heap_index(address)?;
        Some((slot, index, self.regions[slot].objects[index]))
    }

    /// How many objects of this type a slot has allocated up to this one, which counts.
    pub fn rank(&self, slot: usize, index: usize, ty: TypeId) -> usize {
        let before = &self.regions[slot].objects[..=index];
        before.iter().filter(|object| object.ty == Some(ty)).count()
    }

    /// Heap objects that nobody has freed.
    pub fn live_objects(&self) -> u64 {
        let live = |region: &Region| region.objects.iter().filter(|o| o.freed.is_none()).count();
        self.regions.iter().map(live).sum::<usize>() as u64
    }

    /// A thread begins to use a slot.
    pub fn claim(&mut self, slot: usize) {
        if !self.slots_used.contains(&slot) {
            self.slots_used.push(slot);
        }
    }

    pub fn set_stack_top(&mut self, slot: usize, top: u64) {
        self.stack_top[slot] = top;
        self.note_high(slot, top);
    }

    /// How far the stack of a slot was in use in this run, at most.
    pub fn stack_high(&self, slot: usize) -> u64 {
        self.stack_high[slot]
    }

    /// The stack of a slot was in use up to there.
    pub fn note_high(&mut self, slot: usize, top: u64) {
        if top > self.stack_high[slot] {
            self.stack_high[slot] = top;
        }
    }
}

/// Whether `address` is on the stack of a slot, and whose.
pub(crate) fn stack_slot(address: u64) -> Option<usize> {
    (STACKS..STACKS + SLOTS * STACK_SIZE)
        .contains(&address)
        .then(|| ((address - STACKS) / STACK_SIZE) as usize)
}

pub(crate) fn in_arena(address: u64) -> bool {
    (ARENA_BASE..ARENA_END).contains(&address)
}

/// Maps a thread's register stack, once per slot and machine.
pub(crate) fn map_registers(slots: usize) -> Result<*mut u64, VmError> {
    Ok(map(0, slots as u64 * 8, libc::PROT_READ | libc::PROT_WRITE)?.cast())
}

/// Maps the table that [`crate::sharing`] keeps.
pub(crate) fn map_table(bytes: u64) -> Result<*mut u8, VmError> {
    map(0, bytes, libc::PROT_READ | libc::PROT_WRITE)
}
