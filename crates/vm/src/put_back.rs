//! What a program changes about its process by native functions, and what of it is put back behind a run.
//!
//! The working directory, the mask of new files and the limits of resources are kept before the program first changes them,
//! so that the next run, and this tool, find them as they were. Anything else stays changed (environment, locales,
//! identity, …), and so does what the system does not give back, such as a hard limit that was lowered: then the process is
//! not used for another run.

use std::ffi::CString;
use std::os::unix::ffi::OsStringExt;

/// How a native function changes the process.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Change {
    /// Not in a way that another run would see.
    None,
    Directory,
    Mask,
    Limits,
    ForGood,
}

/// What a native function of this name changes.
pub(crate) fn change(name: &str) -> Change {
    match name {
        "chdir" | "fchdir" => Change::Directory,
        "umask" => Change::Mask,
        "setrlimit" | "setrlimit64" => Change::Limits,
        "chroot"
        | "uselocale"
        | "_ZNSt6locale6globalERKS_"
        | "setenv"
        | "unsetenv"
        | "putenv"
        | "clearenv"
        | "freopen"
        | "freopen64"
        | "dup2"
        | "dup3"
        | "hcreate"
        | "setuid"
        | "seteuid"
        | "setreuid"
        | "setresuid"
        | "setgid"
        | "setegid"
        | "setregid"
        | "setresgid"
        | "setgroups"
        | "setpgid"
        | "setsid"
        | "setpriority"
        | "nice"
        | "mlockall" => Change::ForGood,
        _ => Change::None,
    }
}

/// Limits of resources that there are.
const LIMITS: usize = 16;

/// How the process was before the run changed it.
#[derive(Debug, Default)]
pub(crate) struct Kept {
    directory: Option<CString>,
    mask: Option<libc::mode_t>,
    limits: Option<[libc::rlimit; LIMITS]>,
}

impl Kept {
    /// A function that changes the process is about to be called. False if what it changes cannot be put back.
    pub fn keep(&mut self, change: Change) -> bool {
        match change {
            Change::None => {}
            Change::Directory if self.directory.is_none() => {
                let path = std::env::current_dir().ok().map(|path| path.into_os_string());
                self.directory = path.and_then(|path| CString::new(path.into_vec()).ok());
                return self.directory.is_some();
            }
            Change::Mask if self.mask.is_none() => {
                // SAFETY: asks for the mask by setting it, and sets it again.
                let mask = unsafe { libc::umask(0) };
                // SAFETY: as above.
                unsafe { libc::umask(mask) };
                self.mask = Some(mask);
            }
            Change::Limits if self.limits.is_none() => self.limits = Some(limits()),
            Change::Directory | Change::Mask | Change::Limits => {}
            Change::ForGood => return false,
        }
        true
    }

    /// Behind a run. False if something could not be put back.
    pub fn put_back(&mut self) -> bool {
        let Kept { directory, mask, limits } = std::mem::take(self);
        let in_place = directory.is_none_or(|path| {
            // SAFETY: a path that the system gave us.
            unsafe { libc::chdir(path.as_ptr()) == 0 }
        });
        if let Some(mask) = mask {
            // SAFETY: what it was.
            unsafe { libc::umask(mask) };
        }
        in_place && limits.is_none_or(|limits| set_limits(&limits))
    }
}

fn limits() -> [libc::rlimit; LIMITS] {
    let mut limits = [libc::rlimit { rlim_cur: 0, rlim_max: 0 }; LIMITS];
    for (number, limit) in limits.iter_mut().enumerate() {
        // SAFETY: there is room for a limit.
        unsafe { libc::getrlimit(number as _, limit) };
    }
    limits
}

/// False if one of them was refused.
fn set_limits(before: &[libc::rlimit; LIMITS]) -> bool {
    let same =
        |a: &libc::rlimit, b: &libc::rlimit| (a.rlim_cur, a.rlim_max) == (b.rlim_cur, b.rlim_max);
    let now = limits();
    let mut all = true;
    for (number, (old, now)) in before.iter().zip(&now).enumerate() {
        if !same(old, now) {
            // SAFETY: what it was.
            all &= unsafe { libc::setrlimit(number as _, old) } == 0;
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lowered_limit_is_as_it_was_and_a_lasting_change_is_told() {
        let mut kept = Kept::default();
        assert!(kept.keep(Change::Limits));
        let before = limits();
        let core = libc::RLIMIT_CORE as usize;
        let lower = libc::rlimit { rlim_cur: 0, ..before[core] };
        // SAFETY: no core of a test is worth anything.
        let is_set = unsafe { libc::setrlimit(libc::RLIMIT_CORE, &lower) } == 0;
        assert!(is_set);
        assert!(kept.put_back());
        assert_eq!(limits()[core].rlim_cur, before[core].rlim_cur);
        assert!(!kept.keep(change("setenv")));
        assert!(kept.keep(change("getenv")) && kept.put_back());
    }
}
