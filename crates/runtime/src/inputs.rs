//! What the program was given, on request (`UNRAVEL_INPUTS=1`): its arguments, and its standard input if that is a file.
//!
//! A pipe or a terminal cannot be read twice, so it is left to the program, and the log says that it is not there. (`unravel record
//! --inputs` puts what comes through a pipe into a file first.)

use core::ffi::{c_char, c_int, c_long};

use crate::file;
use crate::layout;
use crate::sys;

const LSEEK: c_long = 8;
const PREAD: c_long = 17;
const FROM_HERE: c_long = 1;
const STANDARD_INPUT: c_long = 0;
const NO_FURTHER: c_long = 0;

/// Writes down what the program was given.
///
/// # Safety
/// A log is being written, and nobody else runs yet; `arguments` are `count` texts.
pub unsafe fn note(count: c_int, arguments: *const *const c_char) {
    // SAFETY: all that is written lies between the entry and the end of its room.
    unsafe {
        let entry = file::inputs();
        let mut to = entry.add(1).cast::<u8>();
        let end = entry.cast::<u8>().add(layout::INPUTS_BYTES);
        let mut number = 0;
        while number < count {
            let text = *arguments.add(number as usize);
            let length = sys::strlen(text) + 1;
            if length > end.offset_from(to) as usize {
                return;
            }
            sys::memcpy(to.cast(), text.cast(), length);
            to = to.add(length);
            number += 1;
        }
        (*entry).arguments = to.offset_from(entry.add(1).cast::<u8>()) as u64;
        (*entry).kept = layout::INPUTS_ARGUMENTS;
        if let Some(length) = copy_standard_input(to, end.offset_from(to) as usize) {
            (*entry).standard_input = length as u64;
            (*entry).kept |= layout::INPUTS_STANDARD_INPUT;
        }
    }
}

/// Its bytes from where the program will begin to read, if all of them are there and fit.
unsafe fn copy_standard_input(to: *mut u8, room: usize) -> Option<usize> {
    // SAFETY: the kernel writes no further than it is told. The offset of the descriptor stays where it is.
    unsafe {
        let begin = sys::syscall(LSEEK, STANDARD_INPUT, NO_FURTHER, FROM_HERE);
        if begin < 0 {
            return None;
        }
        let mut length = 0;
        while length < room {
            let left = (room - length) as c_long;
            let read =
                sys::syscall(PREAD, STANDARD_INPUT, to.add(length), left, begin + length as c_long);
            match read {
                0 => return Some(length),
                1.. => length += read as usize,
                _ => return None,
            }
        }
    }
    None
}
