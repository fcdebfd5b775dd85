//! Ctrl-C: long commands stop, and keep what they found.

use std::sync::atomic::{AtomicBool, Ordering};

/// Whether the user wants it to end.
pub static INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// From now on Ctrl-C sets [`INTERRUPTED`] instead of ending the process.
pub fn listen() {
    // SAFETY: the handler only sets a flag.
    unsafe { libc::signal(libc::SIGINT, interrupt as *const () as libc::sighandler_t) };
}

extern "C" fn interrupt(_: i32) {
    INTERRUPTED.store(true, Ordering::Relaxed);
}
