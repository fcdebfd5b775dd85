//! What the program writes to its standard output, kept. It writes to descriptor 1 of this process, by its own functions
//! and by native ones; during a run that is to be kept, this descriptor is a file in memory.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::os::fd::{AsRawFd, FromRawFd, IntoRawFd, OwnedFd};

/// Where the output goes while it is kept, and where it went before.
#[derive(Debug)]
pub(crate) struct Capture {
    file: File,
    before: OwnedFd,
    /// The first of the two descriptors that are ours whatever the program closes, if it closes any.
    reserved: Option<i32>,
}

impl Capture {
    /// From now on the output is kept. What the C library still holds belongs to whoever wrote it, and goes out first.
    pub fn begin(reserved: Option<i32>) -> std::io::Result<Capture> {
        // SAFETY: flushes the streams of the C library; the descriptors are new and ours.
        unsafe {
            libc::fflush(std::ptr::null_mut());
            let file = libc::memfd_create(c"output".as_ptr(), libc::MFD_CLOEXEC);
            if file < 0 {
                return Err(std::io::Error::last_os_error());
            }
            let file = File::from_raw_fd(at(file, reserved)?);
            let before = libc::fcntl(1, libc::F_DUPFD_CLOEXEC, 3);
            if before < 0 {
                return Err(std::io::Error::last_os_error());
            }
            let before = OwnedFd::from_raw_fd(at(before, reserved.map(|first| first + 1))?);
            if libc::dup2(file.as_raw_fd(), 1) < 0 {
                return Err(std::io::Error::last_os_error());
            }
            Ok(Capture { file, before, reserved })
        }
    }

    /// The output goes where it went before; what was kept. The program's buffers have been flushed.
    pub fn end(mut self) -> Vec<u8> {
        // SAFETY: puts back a descriptor of this process.
        unsafe { libc::dup2(self.before.as_raw_fd(), 1) };
        let mut bytes = Vec::new();
        let read =
            self.file.seek(SeekFrom::Start(0)).and_then(|_| self.file.read_to_end(&mut bytes));
        read.expect("a file in memory can be read");
        if let Some(first) = self.reserved {
            // They stay taken, or the program would get them.
            let ours = [self.file.into_raw_fd(), self.before.into_raw_fd()];
            assert_eq!(ours, [first, first + 1], "the descriptors that were reserved");
            for descriptor in ours {
                // SAFETY: descriptors of this process.
                unsafe { libc::dup3(2, descriptor, libc::O_CLOEXEC) };
            }
        }
        bytes
    }
}

/// The same with this number, if one is wanted.
fn at(descriptor: i32, number: Option<i32>) -> std::io::Result<i32> {
    let Some(number) = number else { return Ok(descriptor) };
    // SAFETY: a descriptor that was just made, and one that is reserved for it.
    unsafe {
        let moved = libc::dup3(descriptor, number, libc::O_CLOEXEC);
        libc::close(descriptor);
        if moved < 0 { Err(std::io::Error::last_os_error()) } else { Ok(moved) }
    }
}
