//! What the program shares with this process: libraries, descriptors, standard streams; and how each run finds
//! them as the first one did.

use std::ffi::{CStr, CString};

use crate::error::VmError;

/// Descriptors before the program's first that are kept for whoever needs some during a run: fillers till then.
pub(crate) const RESERVED: i32 = 2;

/// The program's first descriptor is a multiple of this, so that its numbers do not depend on how many are open here: they
/// are values of the program, and two searches must see the same ones whatever their number of workers.
const GRAIN: i32 = 128;

/// The descriptors below the program's first, all of them taken while it runs, so that it gets the numbers behind.
#[derive(Debug)]
pub(crate) struct Claim {
    first: i32,
    /// Those that hold a number and are nothing else.
    fillers: Vec<i32>,
}

impl Claim {
    /// None where so many cannot be had.
    pub fn new() -> Option<Claim> {
        let entries = std::fs::read_dir("/proc/self/fd").ok()?;
        let numbers = entries.filter_map(|e| e.ok()?.file_name().to_str()?.parse::<i32>().ok());
        let highest = numbers.max()? + RESERVED;
        let first = (highest / GRAIN + 1) * GRAIN;
        let mut claim = Claim { first, fillers: Vec::new() };
        loop {
            let descriptor = filler();
            if descriptor < 0 {
                return None;
            }
            if descriptor >= first {
                close(descriptor);
                return Some(claim);
            }
            claim.fillers.push(descriptor);
        }
    }

    /// Whether all numbers below are taken still and the first is free: what is opened between two runs takes that one.
    pub fn holds(&self) -> bool {
        let next = filler();
        close(next);
        next == self.first
    }

    /// Descriptors from here on belong to the program; those below are ours.
    pub fn first(&self) -> i32 {
        self.first
    }

    /// Closes what the program left open.
    pub fn close_the_programs(&self) {
        // SAFETY: descriptors from here on were opened by the program.
        unsafe { libc::syscall(libc::SYS_close_range, self.first, u32::MAX, 0) };
    }
}

/// A descriptor that holds the lowest free number.
fn filler() -> i32 {
    // SAFETY: duplicates our standard error.
    unsafe { libc::fcntl(2, libc::F_DUPFD_CLOEXEC, 3) }
}

fn close(descriptor: i32) {
    // SAFETY: a descriptor of ours.
    unsafe { libc::close(descriptor) };
}

impl Drop for Claim {
    fn drop(&mut self) {
        for together in self.fillers.chunk_by(|a, b| a + 1 == *b) {
            let (from, to) = (together[0], together[together.len() - 1]);
            // SAFETY: descriptors that only we know of.
            unsafe { libc::syscall(libc::SYS_close_range, from, to, 0) };
        }
    }
}

/// A library that is loaded, as `dlsym` knows it. None is ever given back.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Library(usize);

impl Library {
    /// The address of a symbol of this library, or of one that it depends on.
    pub fn address(self, name: &CStr) -> Option<u64> {
        // SAFETY: a look-up by name in a loaded library.
        let address = unsafe { libc::dlsym(self.0 as *mut libc::c_void, name.as_ptr()) };
        (!address.is_null()).then_some(address as u64)
    }
}

pub(crate) fn open_library(name: &str) -> Result<Library, String> {
    let c_name = CString::new(name).map_err(|e| e.to_string())?;
    // SAFETY: loads a shared library for the program under test.
    unsafe {
        let handle = libc::dlopen(c_name.as_ptr(), libc::RTLD_NOW | libc::RTLD_GLOBAL);
        if handle.is_null() {
            let message = libc::dlerror();
            return Err(CStr::from_ptr(message).to_string_lossy().into_owned());
        }
        Ok(Library(handle as usize))
    }
}

/// Loads `-lNAME` (or a path). A development package's `libNAME.so` may be a linker script or absent, so
/// numbered names are tried too.
pub(crate) fn load(library: &str) -> Result<Option<Library>, VmError> {
    if matches!(library, "pthread" | "c" | "m" | "rt" | "dl" | "stdc++" | "gcc_s") {
        return Ok(None);
    }
    let mut names = vec![library.to_owned(), format!("lib{library}.so")];
    names.extend((0..10).map(|n| format!("lib{library}.so.{n}")));
    names.push(format!("lib{library}.so.1.0"));
    let mut message = String::new();
    for name in names {
        match open_library(&name) {
            Ok(library) => return Ok(Some(library)),
            Err(error) if message.is_empty() => message = error,
            Err(_) => {}
        }
    }
    Err(VmError::Library { name: library.to_owned(), message })
}

pub(crate) fn replace_stdin(bytes: Option<&[u8]>) {
    // SAFETY: replaces descriptor 0 of this process by one with the given content.
    unsafe {
        let fd = match bytes {
            None => libc::open(c"/dev/null".as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC),
            Some(bytes) => {
                let fd = libc::memfd_create(c"stdin".as_ptr(), libc::MFD_CLOEXEC);
                let mut rest = bytes;
                while fd >= 0 && !rest.is_empty() {
                    let written = libc::write(fd, rest.as_ptr().cast(), rest.len());
                    if written <= 0 {
                        break;
                    }
                    rest = &rest[written as usize..];
                }
                libc::lseek(fd, 0, libc::SEEK_SET);
                fd
            }
        };
        if fd > 0 {
            // While it still has its descriptor, the stream can be made to forget what it read ahead.
            libc::fflush(stdin);
            libc::dup2(fd, 0);
            libc::close(fd);
        }
    }
}

unsafe extern "C" {
    static stdin: *mut libc::FILE;
    static stdout: *mut libc::FILE;
    static stderr: *mut libc::FILE;
    fn unravel_streams_keep();
    fn unravel_streams_reset();
}

pub(crate) fn standard_streams() -> [u64; 3] {
    // SAFETY: variables of the C library.
    unsafe { [stdin as u64, stdout as u64, stderr as u64] }
}

/// Lets the next run read standard input from its beginning, by stream or by descriptor.
pub(crate) fn rewind_stdin() {
    // SAFETY: our own descriptor 0 and the C library's stream on it. Flushing forgets what was read ahead, or
    // the stream would believe that the descriptor is where the last run left it.
    unsafe {
        libc::fflush(stdin);
        libc::rewind(stdin);
        libc::lseek(0, 0, libc::SEEK_SET);
    }
}

/// How much of standard input the stream has given out.
pub(crate) fn stdin_position() -> Option<u64> {
    // SAFETY: the C library's stream.
    u64::try_from(unsafe { libc::ftell(stdin) }).ok()
}

/// Undoes `setvbuf` on the standard streams. (Their buffers are never the program's, which are gone by now.)
pub(crate) fn reset_buffers() {
    // SAFETY: streams of the C library, flushed after the last run. Seeking makes the output forget that it was
    // being written to, so that the new mode counts from its first byte.
    unsafe {
        let terminal = libc::isatty(1) == 1;
        let mode = if terminal { libc::_IOLBF } else { libc::_IOFBF };
        libc::setvbuf(stdout, std::ptr::null_mut(), mode, 0);
        libc::fseek(stdout, 0, libc::SEEK_CUR);
        libc::setvbuf(stdin, std::ptr::null_mut(), libc::_IOFBF, 0);
        libc::setvbuf(stderr, std::ptr::null_mut(), libc::_IONBF, 0);
    }
}

/// Whether a variable of libstdc++ is one of `std::cin` and its like.
pub(crate) fn is_stream(name: &str) -> bool {
    const STREAMS: [&str; 8] = [
        "_ZSt3cin",
        "_ZSt4cout",
        "_ZSt4cerr",
        "_ZSt4clog",
        "_ZSt4wcin",
        "_ZSt5wcout",
        "_ZSt5wcerr",
        "_ZSt5wclog",
    ];
    STREAMS.contains(&name)
}

/// Whether a variable of a library gives access to standard input.
pub(crate) fn is_input(name: &str) -> bool {
    matches!(name, "stdin" | "_ZSt3cin" | "_ZSt4wcin")
}

/// Whether the name of a function says that it reads.
pub(crate) fn reads_input(name: &str) -> bool {
    ["read", "scanf", "get"].iter().any(|part| name.contains(part)) && !name.starts_with("pthread_")
}

/// Remembers how `std::cout` and its like print, before a program changes it.
pub(crate) fn keep_streams() {
    // SAFETY: copies state of libstdc++'s objects.
    unsafe { unravel_streams_keep() };
}

pub(crate) fn reset_streams() {
    // SAFETY: after `keep_streams`.
    unsafe { unravel_streams_reset() };
}
