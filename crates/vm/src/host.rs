//! What the program shares with this process: libraries, descriptors, standard input.

use std::ffi::CString;

use crate::error::VmError;

/// Takes all descriptors up to the highest one in use, so that those behind are the program's.
pub(crate) fn claim_descriptors() -> i32 {
    let highest = std::fs::read_dir("/proc/self/fd").map_or(64, |entries| {
        let numbers = entries.filter_map(|e| e.ok()?.file_name().to_str()?.parse::<i32>().ok());
        numbers.max().unwrap_or(64)
    });
    loop {
        // SAFETY: duplicates our standard error.
        let descriptor = unsafe { libc::fcntl(2, libc::F_DUPFD_CLOEXEC, 3) };
        if descriptor < 0 {
            return i32::MAX - 1;
        }
        if descriptor > highest {
            // SAFETY: the descriptor just made.
            unsafe { libc::close(descriptor) };
            return descriptor;
        }
    }
}

pub(crate) fn open_library(name: &str) -> Result<(), String> {
    let c_name = CString::new(name).map_err(|e| e.to_string())?;
    // SAFETY: loads a shared library for the program under test.
    unsafe {
        if libc::dlopen(c_name.as_ptr(), libc::RTLD_NOW | libc::RTLD_GLOBAL).is_null() {
            let message = libc::dlerror();
            return Err(std::ffi::CStr::from_ptr(message).to_string_lossy().into_owned());
        }
    }
    Ok(())
}

/// Loads `-lNAME` (or a path). A development package's `libNAME.so` may be a linker script or absent, so
/// numbered names are tried too.
pub(crate) fn load(library: &str) -> Result<(), VmError> {
    if matches!(library, "pthread" | "c" | "m" | "rt" | "dl" | "stdc++" | "gcc_s") {
        return Ok(());
    }
    let mut names = vec![library.to_owned(), format!("lib{library}.so")];
    names.extend((0..10).map(|n| format!("lib{library}.so.{n}")));
    names.push(format!("lib{library}.so.1.0"));
    let mut message = String::new();
    for name in names {
        match open_library(&name) {
            Ok(()) => return Ok(()),
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
            libc::dup2(fd, 0);
            libc::close(fd);
        }
    }
}
