//! SIGSEGV and SIGBUS: the end of a segment, a thread that nobody started, or the program's own fault.
//!
//! A store of recorded code is `mov` of a register or constant to where a register points, nothing else (`crates/instrument/src/emit`). If
//! it hits the page after the segment, that register is set to the next segment's begin and the store is executed again. A store through
//! a null pointer is the first one of a thread which we did not see start: it gets a stream that keeps nothing.

use core::ffi::{c_int, c_void};
use core::sync::atomic::Ordering;

use crate::layout;
use crate::stack::Stack;
use crate::sys::{self, Context, REG_RIP, SigInfo};
use crate::thread::{GUARD, Stream};
use crate::{ending, file, signals};

/// The kernel's number of a register, by the number that instructions use: rax, rcx, rdx, rbx, rsp, rbp, rsi, rdi, r8, …
static REGISTERS: [u8; 16] = [13, 14, 12, 11, 15, 10, 9, 8, 0, 1, 2, 3, 4, 5, 6, 7];

pub extern "C" fn on_fault(signal: c_int, info: *mut SigInfo, context: *mut c_void) {
    let errno = sys::errno();
    // SAFETY: the kernel passes both.
    let ours = unsafe { serve(signal, &*info, &mut *context.cast::<Context>()) };
    sys::set_errno(errno);
    if !ours {
        signals::deliver(signal, info, context);
    }
}

/// Whether the fault was the log's, and is mended.
unsafe fn serve(signal: c_int, info: &SigInfo, context: &mut Context) -> bool {
    if info.code <= 0 {
        return false; // Somebody sent it.
    }
    // SAFETY: the instruction at the address was just executed; a store of ours is at most that long.
    unsafe {
        let rip = context.registers[REG_RIP];
        let register = base_register(rip as *const u8);
        if register == usize::MAX {
            return false;
        }
        let at = (&raw mut context.registers).cast::<u64>().add(register);
        let stream = Stream::current();
        if stream.is_null() {
            if info.address >= 8 || *at != info.address {
                return false;
            }
            return adopt(at);
        }
        let stream = &mut *stream;
        let (address, end) = (info.address, stream.end as u64);
        if signal == sys::SIGBUS {
            // The disk is full: the page has no place in the file.
            if address < stream.start as u64 || address >= end {
                return false;
            }
            stream.give_up(layout::LOST_SPACE);
        } else if address >= end && address < end + GUARD as u64 {
            turn_over(stream, rip);
        } else {
            return false;
        }
        *at = stream.start as u64;
        true
    }
}

unsafe fn turn_over(stream: &mut Stream, rip: u64) {
    let mut frames = [[0u64; 2]; layout::FRAMES];
    // SAFETY: the array has that room.
    unsafe {
        if stream.kept {
            let stack = Stack::walk(frames.as_mut_ptr(), layout::FRAMES, rip);
            let frames = core::slice::from_raw_parts(frames.as_ptr(), stack.count);
            stream.next_segment(layout::BEGIN_SITE, frames, stack.cut_off);
        }
    }
}

/// Gives a sink to a thread that somebody else started.
unsafe fn adopt(register: *mut u64) -> bool {
    let stream = Stream::sink();
    if stream.is_null() {
        return false;
    }
    // SAFETY: the stream is new; the header is mapped if something is recorded.
    unsafe {
        if file::recording() {
            file::counter(&raw mut (*file::header()).unrecorded_threads)
                .fetch_add(1, Ordering::Relaxed);
        }
        Stream::make_current(stream);
        *register = (*stream).start as u64;
    }
    true
}

/// Which register a store of ours writes through; `usize::MAX` if the instruction is no such store.
unsafe fn base_register(code: *const u8) -> usize {
    // SAFETY: the instruction's bytes are mapped, and its form is checked before each further byte is read.
    unsafe {
        let mut at = code;
        let mut prefix = 0;
        while prefix < 2 && (*at == 0x66 || *at & 0xf0 == 0x40) {
            prefix += 1;
            at = at.add(1);
        }
        let extended = prefix > 0 && *at.sub(1) & 0xf1 == 0x41;
        if !matches!(*at, 0x88 | 0x89 | 0xc6 | 0xc7) {
            return usize::MAX;
        }
        let mode = *at.add(1);
        let plain = mode >> 6 == 0 && mode & 7 != 5 || mode >> 6 == 1;
        if !plain {
            return usize::MAX;
        }
        let number = match mode & 7 {
            // An index byte; without an index its low bits are the base.
            4 if *at.add(2) & 0x38 == 0x20 => *at.add(2) & 7,
            4 => return usize::MAX,
            base => base,
        };
        let number = (number | if extended { 8 } else { 0 }) as usize;
        *(&raw const REGISTERS).cast::<u8>().add(number) as usize
    }
}

/// How a program ends by a signal that it does not handle.
pub fn die_of(signal: c_int, info: *const SigInfo, context: *const c_void) {
    // SAFETY: the kernel passes both.
    unsafe {
        let rip = (*context.cast::<Context>()).registers[REG_RIP];
        let own = matches!(signal, sys::SIGSEGV | sys::SIGBUS | sys::SIGFPE | sys::SIGILL);
        let address = if own { (*info).address } else { 0 };
        let kind = if signal == sys::SIGABRT { layout::END_ABORT } else { layout::END_SIGNAL };
        ending::write(kind, i64::from(signal), address, core::ptr::null(), rip);
    }
}
