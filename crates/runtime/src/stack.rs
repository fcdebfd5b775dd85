//! Call stacks as addresses, each with its function's begin, by the unwinder that exceptions use. What they are in the program is found out when the
//! log is read (`.unravel_places`).

use core::ffi::{c_int, c_void};

use crate::sys;
use crate::thread::{SILENT_BUSY, Stream};

pub struct Stack {
    pub frames: *mut [u64; 2],
    pub room: usize,
    pub count: usize,
    /// Skip everything up to this address, which is the interrupted instruction's; 0 for none.
    from: u64,
    pub cut_off: bool,
}

impl Stack {
    /// The stack of the caller, or if `from` is an address, from the frame that stands there.
    ///
    /// # Safety
    /// `frames` has room for `room` addresses.
    pub unsafe fn walk(frames: *mut [u64; 2], room: usize, from: u64) -> Stack {
        let mut stack = Stack { frames, room, count: 0, from, cut_off: false };
        let stream = Stream::current();
        // SAFETY: the callback gets the stack that outlives the walk. The unwinder's own locks are no business of the program's log.
        unsafe {
            if !stream.is_null() {
                (*stream).silent |= SILENT_BUSY;
                (*stream).tell_hot();
            }
            sys::_Unwind_Backtrace(each, (&raw mut stack).cast());
            if !stream.is_null() {
                (*stream).silent &= !SILENT_BUSY;
                (*stream).tell_hot();
            }
        }
        stack
    }
}

extern "C" fn each(context: *mut c_void, with: *mut c_void) -> c_int {
    const GO_ON: c_int = 0;
    const STOP: c_int = 5;
    // SAFETY: `with` is the stack of `walk`, the context is the unwinder's.
    unsafe {
        let stack = &mut *with.cast::<Stack>();
        let mut before: c_int = 0;
        let address = sys::_Unwind_GetIPInfo(context, &mut before);
        if stack.from != 0 {
            if address != stack.from {
                return GO_ON;
            }
            stack.from = 0;
        }
        if address == 0 {
            return STOP;
        }
        if stack.count == stack.room {
            stack.cut_off = true;
            return STOP;
        }
        *stack.frames.add(stack.count) = [address, sys::_Unwind_GetRegionStart(context)];
        stack.count += 1;
        GO_ON
    }
}
