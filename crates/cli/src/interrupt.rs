//! Ctrl-C: long commands stop, and keep what they found.

use std::sync::atomic::{AtomicBool, Ordering};

/// Whether the user wants it to end.
pub static INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// From now on Ctrl-C sets [`INTERRUPTED`] instead of ending the process; a second one ends it.
pub fn listen() {
    // SAFETY: the handler sets a flag and nothing else that is not safe in a handler.
    unsafe { libc::signal(libc::SIGINT, interrupt as *const () as libc::sighandler_t) };
}

extern "C" fn interrupt(_: i32) {
    if INTERRUPTED.swap(true, Ordering::Relaxed) {
        // SAFETY: ends this process as if it had not listened.
        unsafe {
            libc::signal(libc::SIGINT, libc::SIG_DFL);
            libc::raise(libc::SIGINT);
        }
    }
}
