//! Standard output and standard error. What cannot be written is remembered: at its end the command says so, instead of
//! exiting as if it had been read. A reader that stops early (head, less) has seen enough.

use std::io::{Error, ErrorKind, Write};
use std::sync::atomic::{AtomicI32, Ordering};

/// Why a write failed first, as the system numbers it; 0 if none has.
static LOST: AtomicI32 = AtomicI32::new(0);

/// Prints to standard output.
macro_rules! say {
    ($($words:tt)*) => {{
        $crate::say::put(format!($($words)*).as_bytes());
    }};
}

/// The same, and the end of a line.
macro_rules! sayln {
    ($($words:tt)*) => {{
        $crate::say::put(format!("{}\n", format_args!($($words)*)).as_bytes());
    }};
}

/// Prints to standard error. There is nobody to tell if that fails.
macro_rules! warn {
    ($($words:tt)*) => {{
        $crate::say::aside(format!($($words)*).as_bytes());
    }};
}

/// The same, and the end of a line.
macro_rules! warnln {
    ($($words:tt)*) => {{
        $crate::say::aside(format!("{}\n", format_args!($($words)*)).as_bytes());
    }};
}

/// Writes to standard output; false if it could not be written, so that there is no use in going on.
pub fn put(bytes: &[u8]) -> bool {
    let mut out = std::io::stdout().lock();
    let written = out.write_all(bytes).and_then(|()| out.flush());
    written.map_err(|error| lose(&error)).is_ok()
}

/// Writes to standard error.
pub fn aside(bytes: &[u8]) {
    let _ = std::io::stderr().lock().write_all(bytes);
}

/// Remembers that something was not written to standard output.
pub fn lose(error: &Error) {
    // A device that takes nothing more and does not say why is full.
    let number = error.raw_os_error().unwrap_or(libc::ENOSPC);
    let _ = LOST.compare_exchange(0, number, Ordering::Relaxed, Ordering::Relaxed);
}

/// Why what was said is not all there, unless nobody wanted it.
pub fn lost() -> Option<Error> {
    let number = LOST.load(Ordering::Relaxed);
    let error = Error::from_raw_os_error(number);
    (number != 0 && error.kind() != ErrorKind::BrokenPipe).then_some(error)
}
