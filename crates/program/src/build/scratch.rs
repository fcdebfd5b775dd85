//! Folders for files that nobody needs afterwards. They are gone when dropped, and when a signal ends the process
//! ([`clear_scratch`]); those of processes that were killed go when the next one makes its own.

use std::ffi::{CString, c_char};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, Ordering};

use tempfile::TempDir;

/// How names of such folders begin; the number of the process and something at random follow.
const PREFIX: &str = "unravel-";
/// How many there are at once: one to compile in, and one for patched files around it.
const MOST: usize = 4;

/// Paths of the folders of this process, as C strings.
static FOLDERS: [AtomicPtr<c_char>; MOST] = [const { AtomicPtr::new(null_mut()) }; MOST];

/// A folder of this process.
#[derive(Debug)]
pub struct Scratch {
    folder: TempDir,
    slot: Option<usize>,
}

impl Scratch {
    pub fn new() -> io::Result<Scratch> {
        clear_stale(&std::env::temp_dir());
        let prefix = format!("{PREFIX}{}-", std::process::id());
        let folder = tempfile::Builder::new().prefix(&prefix).tempdir()?;
        let slot = remember(folder.path());
        Ok(Scratch { folder, slot })
    }

    pub fn path(&self) -> &Path {
        self.folder.path()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if let Some(slot) = self.slot {
            // The string itself is not freed: a handler may be reading it.
            FOLDERS[slot].store(null_mut(), Ordering::SeqCst);
        }
    }
}

fn remember(path: &Path) -> Option<usize> {
    let text = CString::new(path.as_os_str().as_bytes()).ok()?.into_raw();
    let is_free = |slot: &AtomicPtr<c_char>| {
        slot.compare_exchange(null_mut(), text, Ordering::SeqCst, Ordering::SeqCst).is_ok()
    };
    FOLDERS.iter().position(is_free)
}

/// Removes the folders of this process. Safe in a signal handler; the process is expected to end then.
pub fn clear_scratch() {
    for slot in &FOLDERS {
        let path = slot.load(Ordering::SeqCst);
        if path.is_null() {
            continue;
        }
        let words =
            [c"rm".as_ptr(), c"-rf".as_ptr(), c"--".as_ptr(), path.cast_const(), null_mut()];
        // SAFETY: fork, execv, _exit and waitpid may be called in a handler; the strings live as long as the process.
        unsafe {
            match libc::fork() {
                0 => {
                    libc::execv(c"/bin/rm".as_ptr(), words.as_ptr());
                    libc::_exit(1);
                }
                child if child > 0 => {
                    libc::waitpid(child, null_mut(), 0);
                }
                _ => {}
            }
        }
    }
}

/// Removes folders whose process is gone.
fn clear_stale(temporary: &Path) {
    let Ok(entries) = std::fs::read_dir(temporary) else { return };
    for path in entries.filter_map(|entry| Some(entry.ok()?.path())) {
        if owner(&path).is_some_and(is_gone) {
            // Somebody else's cannot be removed, and need not be.
            let _ = std::fs::remove_dir_all(&path);
        }
    }
}

/// The process that a folder's name says it belongs to.
fn owner(path: &Path) -> Option<i32> {
    let name = path.file_name()?.to_str()?.strip_prefix(PREFIX)?;
    name.split_once('-')?.0.parse().ok().filter(|pid| *pid > 0)
}

fn is_gone(pid: i32) -> bool {
    // SAFETY: signal 0 only asks whether there is such a process.
    let asked = unsafe { libc::kill(pid, 0) };
    asked != 0 && io::Error::last_os_error().raw_os_error() == Some(libc::ESRCH)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_folders_of_the_dead_are_cleared() {
        let temporary = tempfile::tempdir().expect("a folder");
        let make = |name: &str| {
            let path = temporary.path().join(name);
            std::fs::create_dir(&path).expect("a folder");
            path
        };
        let ours = make(&format!("unravel-{}-abc", std::process::id()));
        let dead = make("unravel-2147483646-abc");
        let others = make("unravel-notes");
        clear_stale(temporary.path());
        assert!(ours.exists() && others.exists() && !dead.exists());
    }
}
