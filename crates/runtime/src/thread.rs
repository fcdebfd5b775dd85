//! A thread's stream of records.
//!
//! Recorded code writes at the log's pointer and never checks: the page after a segment cannot be written (`fault.rs`). What the runtime
//! writes itself, it checks. A segment begins with a *restart point* in its slot's meta data: the call stack as addresses, and of a record of
//! recorded code the address of the very store. So a reader that has only the last segments knows where to begin.

use core::ffi::c_void;
use core::sync::atomic::Ordering;

use crate::layout::{self, SlotMeta, ThreadEntry};
use crate::stack::Stack;
use crate::{file, sys};

/// A page that cannot be written follows each segment.
pub const GUARD: usize = 4096;
const MOST_RING: usize = 64;
/// What is written over and over if nothing is kept.
const SINK: usize = 64 << 10;

/// Semaphores and barriers that a thread has at a time, as far as it is known.
pub const HOLDS: usize = 8;

/// Nothing of the thread is kept.
const SILENT_UNKEPT: u8 = 1;
/// Sync operations are not asked for.
const SILENT_ASKED: u8 = 2;
/// The runtime itself is at work: what it calls is not recorded.
pub const SILENT_BUSY: u8 = 4;

#[repr(C)]
pub struct Stream {
    /// The segment that is written.
    pub start: *mut u8,
    pub end: *mut u8,
    /// The thread's number; of a sink, none.
    pub number: u32,
    /// The last place in the segment where any record of the runtime fits, if sync operations are recorded now; else 0. `hot.rs` finds
    /// that of the thread's stream in a thread-local variable.
    records: usize,
    /// The same if only marks are written.
    pub marks: usize,
    pub kept: bool,
    /// 0 if sync operations are recorded now: bits `SILENT_*`.
    pub silent: u8,
    /// How many threads it has created.
    pub children: u32,
    /// Signal handlers of the program that are running on top.
    pub depth: u32,
    /// What the log's pointer was when a signal handler interrupted, and what it is while no handler runs.
    pub pointer: usize,
    /// Where handlers write; null until the first one.
    pub handlers: *mut Stream,
    pub entry: *mut ThreadEntry,
    window: *mut u8,
    window_bytes: usize,
    segment: usize,
    ring: usize,
    sequence: u64,
    slots: [u64; MOST_RING],
    /// Semaphores and barriers that it has taken, for `elements.rs`; 0 where there is none.
    pub holds: [u64; HOLDS],
}

#[cfg(not(feature = "vectors"))]
use crate::hot::is_ready as is_hot;

#[cfg(feature = "vectors")]
fn is_hot() -> bool {
    false
}

impl Stream {
    /// The one of this thread, or null.
    pub fn current() -> *mut Stream {
        sys::stream() as *mut Stream
    }

    /// Makes it this thread's, and lets recorded code write into it.
    pub unsafe fn install(stream: *mut Stream, pointer: usize) {
        // SAFETY: the caller passes a stream, or null.
        unsafe { Stream::make_current(stream) };
        sys::set_log_pointer(pointer);
    }

    /// Makes it this thread's; null for none.
    pub unsafe fn make_current(stream: *mut Stream) {
        sys::set_records(0);
        sys::set_stream(stream as usize);
        if !stream.is_null() {
            // SAFETY: the caller passes a stream.
            sys::set_records(unsafe { (*stream).records });
        }
    }

    /// A stream that keeps nothing.
    pub fn sink() -> *mut Stream {
        // SAFETY: a new mapping, larger than a stream, whose pages are zero: valid for all its fields.
        unsafe {
            let stream = Stream::allocate(SINK, 1);
            if !stream.is_null() {
                let at = (*stream).window.cast::<c_void>();
                let flags = sys::MAP_PRIVATE | sys::MAP_ANONYMOUS | sys::MAP_FIXED;
                sys::mmap(at, SINK, sys::PROT_READ_WRITE, flags, -1, 0);
                (*stream).number = u32::MAX;
                (*stream).silent = SILENT_UNKEPT;
                (*stream).start = (*stream).window;
                (*stream).end = (*stream).window.add(SINK);
            }
            stream
        }
    }

    /// The stream of a thread whose entry in the table is filled in.
    pub fn of(number: u32, begin: u32, frames: &[[u64; 2]]) -> *mut Stream {
        // SAFETY: the header is mapped; the stream is as in `sink`.
        unsafe {
            let header = file::header();
            let (segment, ring) = ((*header).segment as usize, (*header).ring as usize);
            let stream = Stream::allocate(segment, ring);
            if stream.is_null() {
                return Stream::sink();
            }
            (*stream).number = number;
            (*stream).entry = file::thread(number);
            (*stream).kept = true;
            (*stream).silent = if (*header).sync == 0 { SILENT_ASKED } else { 0 };
            (*stream).next_segment(begin, frames, false);
            stream
        }
    }

    /// # Safety
    /// The result is null or zeroed but for window, segment and ring.
    unsafe fn allocate(segment: usize, ring: usize) -> *mut Stream {
        let ring = if ring > MOST_RING { MOST_RING } else { ring };
        let stream = sys::pages(size_of::<Stream>()).cast::<Stream>();
        let bytes = ring * (segment + GUARD);
        let flags = sys::MAP_PRIVATE | sys::MAP_ANONYMOUS | sys::MAP_NORESERVE;
        // SAFETY: a new mapping.
        let window =
            unsafe { sys::mmap(core::ptr::null_mut(), bytes, sys::PROT_NONE, flags, -1, 0) };
        if stream.is_null() || window == sys::MAP_FAILED {
            sys::say(c"unravel: no memory for a thread's log\n".as_ptr());
            return core::ptr::null_mut();
        }
        // SAFETY: the pages are new.
        unsafe {
            (*stream).window = window.cast();
            (*stream).window_bytes = bytes;
            (*stream).segment = segment;
            (*stream).ring = ring;
        }
        stream
    }

    /// Gives all its memory back. Recorded code must not write into it any more.
    pub unsafe fn release(stream: *mut Stream) {
        // SAFETY: the caller says that nobody uses it.
        unsafe {
            let (window, bytes) = ((*stream).window, (*stream).window_bytes);
            sys::munmap(window.cast(), bytes);
            sys::munmap(stream.cast(), size_of::<Stream>());
        }
    }

    /// Goes on with the next segment. `start` and `end` are its own then.
    pub fn next_segment(&mut self, begin: u32, frames: &[[u64; 2]], cut_off: bool) {
        if !self.kept {
            return;
        }
        let position = self.sequence.checked_rem(self.ring as u64).unwrap_or(0) as usize;
        // SAFETY: the position is below `ring`, the window has room for that many segments with their guards.
        unsafe {
            let at = self.window.add(position * (self.segment + GUARD));
            let slot = &raw mut self.slots;
            let slot = slot.cast::<u64>().add(position);
            let flight = (*file::header()).mode == layout::MODE_FLIGHT;
            let recycled = flight && self.sequence >= self.ring as u64;
            if recycled {
                let nothing = 0u64;
                sys::pwrite(file::file(), (&raw const nothing).cast(), 8, *slot as i64);
                sys::memset(at.cast(), 0, self.segment);
            } else {
                *slot = file::new_slot(self.segment as u64);
                // Pages come in one go where a whole segment will be written, but not for a thread's first, which may stay small.
                let populate = if self.sequence == 0 { 0 } else { sys::MAP_POPULATE };
                let flags = sys::MAP_SHARED | sys::MAP_FIXED | populate;
                let mapped = *slot != 0
                    && sys::mmap(
                        at.cast(),
                        self.segment,
                        sys::PROT_READ_WRITE,
                        flags,
                        file::file(),
                        (*slot + layout::META) as i64,
                    ) != sys::MAP_FAILED;
                if !mapped {
                    self.give_up(layout::LOST_SPACE);
                    return;
                }
            }
            self.sequence += 1;
            let meta = SlotMeta {
                sequence: self.sequence,
                thread: self.number,
                begin,
                frames: frames.len() as u32,
                cut_off: u32::from(cut_off),
            };
            let after = *slot as i64 + size_of::<SlotMeta>() as i64;
            sys::pwrite(file::file(), frames.as_ptr().cast(), size_of_val(frames), after);
            sys::pwrite(
                file::file(),
                (&raw const meta).cast(),
                size_of::<SlotMeta>(),
                *slot as i64,
            );
            (*self.entry).sequence = self.sequence;
            self.start = at;
            self.end = at.add(self.segment);
        }
        self.tell_hot();
    }

    /// After `end`, `kept` or `silent` has changed.
    pub fn tell_hot(&mut self) {
        let last = match self.kept && is_hot() {
            true => self.end as usize - layout::SYNC_BYTES,
            false => 0,
        };
        (self.records, self.marks) = if self.silent == 0 { (last, 0) } else { (0, last) };
        if core::ptr::eq(Stream::current(), self) {
            sys::set_records(self.records);
        }
    }

    /// Keeps nothing from here on, and says why in the table.
    pub fn give_up(&mut self, why: u32) {
        // SAFETY: the window's first part is replaced by private memory; nobody reads it.
        unsafe {
            if self.kept {
                (*self.entry).lost |= why;
            }
            self.kept = false;
            self.silent |= SILENT_UNKEPT;
            let flags = sys::MAP_PRIVATE | sys::MAP_ANONYMOUS | sys::MAP_FIXED;
            sys::mmap(self.window.cast(), self.segment, sys::PROT_READ_WRITE, flags, -1, 0);
            self.start = self.window;
            self.end = self.window.add(self.segment);
        }
        self.tell_hot();
    }

    /// Says which operation the thread is in; 0 for none.
    #[inline(always)]
    pub fn pending(&self, kind: u8, object: u64) {
        if self.kept {
            // SAFETY: the entry is this thread's own; kept streams have one.
            unsafe {
                (&raw mut (*self.entry).pending).write_volatile(u64::from(kind) << 56 | object);
            }
        }
    }

    /// Where the next record of the runtime goes, if there is room for the longest in this segment or the next: a reader does not know which one comes.
    #[inline(always)]
    fn room(&mut self) -> Option<*mut u8> {
        let at = sys::log_pointer() as *mut u8;
        if (self.end as usize).wrapping_sub(at as usize) >= layout::SYNC_BYTES {
            return Some(at);
        }
        self.turn_over();
        if !self.kept {
            sys::set_log_pointer(self.start as usize);
            return None;
        }
        Some(self.start)
    }

    /// A record of an object with a number and a stamp of 32 bits.
    #[inline(always)]
    pub fn short(kind: u8, object: u64, stamp: u64) -> u64 {
        u64::from(layout::SYNC_SHORT) | u64::from(kind) << 8 | object << 16 | stamp << 32
    }

    #[inline(always)]
    pub fn bare(kind: u8, object: u64) -> u32 {
        u32::from(layout::SYNC_BARE) | u32::from(kind) << 8 | (object as u32) << 16
    }

    /// Writes a sync record at the log's pointer.
    #[inline(always)]
    pub fn write_sync(&mut self, kind: u8, stamp: u64, object: u64) {
        let Some(at) = self.room() else { return };
        // SAFETY: there is room for the record. The first half, which makes it one, comes last.
        unsafe {
            let size = if object < layout::NUMBERED && stamp >> 32 == 0 {
                at.cast::<u64>().write_unaligned(Stream::short(kind, object, stamp));
                layout::SYNC_SHORT_BYTES
            } else {
                let first = u64::from(layout::SYNC) | u64::from(kind) << 8 | stamp << 16;
                at.add(8).cast::<u64>().write_unaligned(object);
                core::sync::atomic::compiler_fence(Ordering::Release);
                at.cast::<u64>().write_unaligned(first);
                layout::SYNC_BYTES
            };
            sys::set_log_pointer(at.add(size) as usize);
        }
    }

    /// Writes one about a thread, whose numbers are not those of objects.
    pub fn write_thread(&mut self, kind: u8, stamp: u64, number: u64) {
        if !self.kept {
            return;
        }
        let Some(at) = self.room() else { return };
        // SAFETY: as in `write_sync`.
        unsafe {
            let first = u64::from(layout::SYNC) | u64::from(kind) << 8 | stamp << 16;
            at.add(8).cast::<u64>().write_unaligned(number);
            core::sync::atomic::compiler_fence(Ordering::Release);
            at.cast::<u64>().write_unaligned(first);
            sys::set_log_pointer(at.add(layout::SYNC_BYTES) as usize);
        }
    }

    /// Writes a sync record without a stamp, in one store if the object has a number.
    #[inline(always)]
    pub fn write_bare(&mut self, kind: u8, object: u64) {
        if object >= layout::NUMBERED {
            return self.write_sync(kind, 0, object);
        }
        let Some(at) = self.room() else { return };
        // SAFETY: as in `write_sync`.
        unsafe {
            at.cast::<u32>().write_unaligned(Stream::bare(kind, object));
            sys::set_log_pointer(at.add(layout::SYNC_BARE_BYTES) as usize);
        }
    }

    /// Writes that a call returned, in place of the recorded code that made it.
    pub fn write_return(&mut self) {
        let Some(at) = self.room() else { return };
        // SAFETY: as in `write_sync`.
        unsafe {
            at.write(layout::RETURN);
            sys::set_log_pointer(at.add(1) as usize);
        }
    }

    #[cold]
    #[inline(never)]
    fn turn_over(&mut self) {
        let mut frames = [[0u64; 2]; layout::FRAMES];
        // SAFETY: the array has that room.
        unsafe {
            let stack = Stack::walk(frames.as_mut_ptr(), layout::FRAMES, 0);
            let frames = core::slice::from_raw_parts(frames.as_ptr(), stack.count);
            self.next_segment(layout::BEGIN_CALL, frames, stack.cut_off);
        }
    }
}
