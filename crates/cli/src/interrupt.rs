//! Ctrl-C: long commands stop, and keep what they found.

use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU32, Ordering};

use crate::exit::Exit;

/// Whether the user wants it to end.
pub static INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// Whether the user ever wanted something to end: a stage may have taken that back for the next one.
static HAPPENED: AtomicBool = AtomicBool::new(false);

/// Ctrl-Cs since somebody last took notice.
static UNHEARD: AtomicU32 = AtomicU32::new(0);
/// So many in a row end the process.
const IMPATIENT: u32 = 3;

/// Who is to clear away what this process leaves in folders, and not its children.
static OWNER: AtomicI32 = AtomicI32::new(0);

/// From now on a signal that ends the process clears away its folders first; after Ctrl-C, before a command listens to it,
/// nothing is known.
pub fn leave_no_folders() {
    // SAFETY: asks for our number, and installs a handler that only does what a handler may.
    unsafe {
        OWNER.store(libc::getpid(), Ordering::Relaxed);
        for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
            // Whoever was started without an interest in a signal has none.
            if libc::signal(signal, leave as *const () as libc::sighandler_t) == libc::SIG_IGN {
                libc::signal(signal, libc::SIG_IGN);
            }
        }
    }
}

/// What somebody reads who interrupted a command before it came to anything.
const NOTHING_KNOWN: &[u8] = b"interrupted before anything was known\n";

extern "C" fn leave(signal: i32) {
    // SAFETY: all of this may be done in a handler.
    unsafe {
        if signal == libc::SIGINT && libc::getpid() == OWNER.load(Ordering::Relaxed) {
            unravel_program::build::clear_scratch();
            libc::write(2, NOTHING_KNOWN.as_ptr().cast(), NOTHING_KNOWN.len());
            libc::_exit(Exit::Inconclusive as i32);
        }
    }
    end_by(signal);
}

/// Ends this process as if it had not listened, but for its folders.
fn end_by(signal: i32) {
    // SAFETY: all of this may be done in a handler.
    unsafe {
        if libc::getpid() == OWNER.load(Ordering::Relaxed) {
            unravel_program::build::clear_scratch();
        }
        libc::signal(signal, libc::SIG_DFL);
        libc::raise(signal);
    }
}

/// From now on Ctrl-C sets [`INTERRUPTED`] instead of ending the process; the third that nobody heeds ends it.
pub fn listen() {
    // SAFETY: the handler sets a flag and nothing else that is not safe in a handler.
    unsafe { libc::signal(libc::SIGINT, interrupt as *const () as libc::sighandler_t) };
}

/// Whether there was a Ctrl-C: then not all was done that was asked for.
pub fn happened() -> bool {
    HAPPENED.load(Ordering::Relaxed)
}

extern "C" fn interrupt(_: i32) {
    HAPPENED.store(true, Ordering::Relaxed);
    let unheard = match INTERRUPTED.swap(true, Ordering::Relaxed) {
        true => UNHEARD.fetch_add(1, Ordering::Relaxed) + 1,
        false => {
            UNHEARD.store(1, Ordering::Relaxed);
            1
        }
    };
    if unheard >= IMPATIENT {
        end_by(libc::SIGINT);
    }
}
