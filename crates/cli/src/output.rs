//! Where output goes: the program's own, and what commands write to files.

use std::io::Write;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::path::Path;

use unravel_results::shell_word;

use crate::error::CliError;
use crate::exit::Exit;
use crate::say;

/// While it lives, what goes to standard output goes to standard error: for commands that have something of their own
/// to print there, as JSON.
#[derive(Debug)]
pub struct Aside {
    output: Option<OwnedFd>,
}

impl Aside {
    /// Does nothing unless `wanted`.
    pub fn begin(wanted: bool) -> Aside {
        let output = std::io::stdout().as_fd().try_clone_to_owned().ok().filter(|_| wanted);
        if output.is_some() {
            move_to(2);
        }
        Aside { output }
    }
}

impl Drop for Aside {
    fn drop(&mut self) {
        if let Some(output) = &self.output {
            move_to(output.as_raw_fd());
        }
    }
}

/// Standard output is from now on what this descriptor is.
fn move_to(descriptor: i32) {
    let _ = std::io::stdout().flush();
    // SAFETY: flushes the streams of the C library, and replaces a descriptor of our own.
    unsafe {
        libc::fflush(std::ptr::null_mut());
        libc::dup2(descriptor, 1);
    }
}

/// What the program wrote to its standard output may be lost, too: then the C library's stream says so.
pub fn notice_loss() {
    unsafe extern "C" {
        static stdout: *mut libc::FILE;
    }
    let mut poll = libc::pollfd { fd: 1, events: libc::POLLOUT, revents: 0 };
    // SAFETY: the C library's own stream and our descriptor 1.
    let (lost, unread) = unsafe {
        libc::poll(&mut poll, 1, 0);
        (libc::ferror(stdout) != 0, poll.revents & libc::POLLERR != 0)
    };
    if lost {
        let number = if unread { libc::EPIPE } else { libc::EIO };
        say::lose(&std::io::Error::from_raw_os_error(number));
    }
}

/// As the user typed it, so that a report says how to make it again.
pub fn command() -> String {
    let args: Vec<String> =
        std::env::args_os().skip(1).map(|arg| shell_word(&arg.to_string_lossy())).collect();
    format!("unravel {}", args.join(" "))
}

/// Whatever is found has to be written there: better to know now that it cannot.
pub fn prepare(directory: &Path) -> Result<(), CliError> {
    let trial = directory.join(".unravel-trial");
    std::fs::create_dir_all(directory)
        .and_then(|()| std::fs::write(&trial, ""))
        .and_then(|()| std::fs::remove_file(&trial))
        .map_err(|source| CliError::Write { path: directory.to_owned(), source })
}

/// Files that could not be written. What was found is told all the same.
#[derive(Debug, Default)]
pub struct Unwritten(Vec<CliError>);

impl Unwritten {
    /// What was written, if it was.
    pub fn note<T>(&mut self, written: Result<T, impl Into<CliError>>) -> Option<T> {
        written.map_err(|error| self.0.push(error.into())).ok()
    }

    /// Says what is missing. A finding is one without its files, too; anything else is not what was asked for.
    pub fn end(self, exit: Exit) -> Exit {
        for error in &self.0 {
            warnln!("error: {error}");
        }
        if self.0.is_empty() || exit == Exit::Finding { exit } else { Exit::Error }
    }
}

pub fn put(path: &Path, text: &str) -> Result<(), CliError> {
    std::fs::write(path, text).map_err(|source| CliError::Write { path: path.to_owned(), source })
}
