//! Streams that the program opens are remembered, so that the next run starts without them. The standard ones
//! are not closed, because they are ours too.

use super::{Args, Family, Flow, OK, fail_with_errno};
use crate::machine::Machine;
use crate::resolve::native_address;

pub(crate) const MODELS: Family = &[
    ("fopen", |m, a| open(m, a, "fopen")),
    ("fopen64", |m, a| open(m, a, "fopen64")),
    ("fdopen", |m, a| open(m, a, "fdopen")),
    ("tmpfile", |m, a| open(m, a, "tmpfile")),
    ("fclose", close),
    ("close", close_descriptor),
    ("close_range", |m, a| close_from(m, a, a.word(0) as u32, a.word(1) as u32)),
    ("closefrom", |m, a| close_from(m, a, a.word(0) as u32, u32::MAX)),
    ("setvbuf", |m, a| set_buffer(m, a.word(0), a.word(1), a.int(2), a.word(3))),
    ("setbuffer", |m, a| set_buffer(m, a.word(0), a.word(1), mode_for(a.word(1)), a.word(2))),
    ("setbuf", |m, a| {
        set_buffer(m, a.word(0), a.word(1), mode_for(a.word(1)), libc::BUFSIZ as u64)
    }),
    ("_ZNSt8ios_base15sync_with_stdioEb", |m, a| {
        // Taken note of but not done: it cannot be undone, and only separates what is printed together.
        Flow::Return(std::mem::replace(&mut m.synced_with_stdio, a.word(0) & 1 != 0).into())
    }),
];

fn open(m: &mut Machine, a: Args, name: &str) -> Flow {
    let Some(address) = native_address(name) else {
        m.finish_inconclusive(format!("the function '{name}' is not known"));
    };
    // SAFETY: the C library's function on strings of the program.
    let stream = unsafe { crate::native::call_words(address, &[a.word(0), a.word(1)]) };
    if stream != 0 {
        m.open_files.push(stream);
    }
    Flow::Return(stream)
}

fn close(m: &mut Machine, a: Args) -> Flow {
    let stream = a.word(0);
    if stream == 0 {
        m.fail(unravel_trace::FailureKind::NullDereference, "fclose of a null stream");
    }
    if m.natives.is_standard(stream) {
        // SAFETY: a stream of the C library.
        return Flow::Return(unsafe { libc::fflush(stream as *mut _) } as u32 as u64);
    }
    m.open_files.retain(|open| *open != stream);
    // SAFETY: a stream the program holds.
    Flow::Return(unsafe { close_stream(stream) } as u32 as u64)
}

/// Closes a stream, but not a standard descriptor that it was opened on: that one is ours too, and the next run's.
///
/// # Safety
/// A stream of the C library, which is not used afterwards.
unsafe fn close_stream(stream: u64) -> i32 {
    // SAFETY: the caller's stream, and descriptors of this process.
    unsafe {
        let errno = *libc::__errno_location();
        let descriptor = libc::fileno(stream as *mut _);
        let is_standard = (0..=2).contains(&descriptor);
        let kept = if is_standard { libc::fcntl(descriptor, libc::F_DUPFD_CLOEXEC, 3) } else { -1 };
        let result = libc::fclose(stream as *mut _);
        if kept >= 0 {
            libc::dup2(kept, descriptor);
            libc::close(kept);
        }
        if result == 0 {
            // What we asked on the way is not the program's business.
            *libc::__errno_location() = errno;
        }
        result
    }
}

fn mode_for(buffer: u64) -> i32 {
    if buffer == 0 { libc::_IONBF } else { libc::_IOFBF }
}

/// A standard stream outlives the program's memory, so that it keeps its own buffer.
fn set_buffer(m: &mut Machine, stream: u64, buffer: u64, mode: i32, bytes: u64) -> Flow {
    let (buffer, bytes) = if m.natives.is_standard(stream) { (0, 0) } else { (buffer, bytes) };
    // SAFETY: a stream the program holds, and memory it gives to it.
    let result = unsafe { libc::setvbuf(stream as *mut _, buffer as *mut _, mode, bytes as usize) };
    Flow::Return(result as u32 as u64)
}

/// `close`; of a standard descriptor it does nothing.
fn close_descriptor(m: &mut Machine, a: Args) -> Flow {
    if (0..=2).contains(&a.int(0)) {
        return OK;
    }
    m.test_cancel();
    m.external_event("close", a.site());
    if a.int(0) < m.natives.first_descriptor() {
        // Programs that close all there is mean their own.
        return fail_with_errno(libc::EBADF);
    }
    // SAFETY: what the program asked for.
    Flow::Return(unsafe { libc::close(a.int(0)) } as u32 as u64)
}

/// `close_range` without flags, and `closefrom`.
fn close_from(m: &mut Machine, a: Args, first: u32, last: u32) -> Flow {
    m.external_event("close", a.site());
    let first = first.max(m.natives.first_descriptor() as u32);
    if first <= last {
        // SAFETY: descriptors that the program opened.
        unsafe { libc::syscall(libc::SYS_close_range, first, last, 0) };
    }
    OK
}

impl Machine {
    /// Closes what a run left open.
    pub fn close_files(&mut self) {
        self.close_streams();
        self.natives.close_descriptors();
    }

    /// Closes the streams that the program left open.
    pub fn close_streams(&mut self) {
        for stream in std::mem::take(&mut self.open_files) {
            // SAFETY: opened by `open` and not closed since.
            unsafe { close_stream(stream) };
        }
    }
}
