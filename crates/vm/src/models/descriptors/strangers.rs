//! Functions of the C library that take a descriptor, and are not modelled for ours.
//!
//! The placeholder of a number makes them fail natively, and the program would believe it. What Linux answers for every such
//! descriptor is answered; anything else is inconclusive by name. *Not seen*: descriptors that a library of the program's hands to
//! the C library itself.

use super::{Args, Family, fail};
use crate::machine::Machine;

/// A function that fails on a descriptor of ours, which is its first argument.
macro_rules! refused {
    ($name:literal, $errno:ident) => {
        ($name, |m, a| match m.descriptors.id(a.int(0)) {
            Some(_) => fail(libc::$errno),
            None => m.call_on_outside(a, $name),
        })
    };
}

pub(super) const MODELS: Family = &[
    refused!("lseek", ESPIPE),
    refused!("lseek64", ESPIPE),
    refused!("pread", ESPIPE),
    refused!("pread64", ESPIPE),
    refused!("preadv", ESPIPE),
    refused!("preadv64", ESPIPE),
    refused!("pwrite", ESPIPE),
    refused!("pwrite64", ESPIPE),
    refused!("pwritev", ESPIPE),
    refused!("pwritev64", ESPIPE),
    refused!("fsync", EINVAL),
    refused!("fdatasync", EINVAL),
    refused!("ftruncate", EINVAL),
    refused!("ftruncate64", EINVAL),
    refused!("tcgetattr", ENOTTY),
    refused!("tcsetattr", ENOTTY),
    refused!("fchdir", ENOTDIR),
];

/// Which arguments of a function are descriptors.
fn descriptors_of(name: &str) -> &'static [usize] {
    match name {
        "splice" | "copy_file_range" => &[0, 2],
        "tee" | "sendfile" | "sendfile64" => &[0, 1],
        "vmsplice" | "dprintf" | "vdprintf" | "__dprintf_chk" | "__vdprintf_chk" | "preadv2"
        | "pwritev2" | "__pread_chk" | "__pread64_chk" | "flock" | "lockf" | "lockf64"
        | "fallocate" | "posix_fallocate" | "fchmod" | "fchown" | "futimens" | "fstatfs"
        | "fstatvfs" | "fdopendir" | "inotify_add_watch" | "openat" | "fexecve" => &[0],
        _ => &[],
    }
}

impl Machine {
    /// Called before a native function is: it is not given a descriptor of ours.
    pub(crate) fn keep_from_strangers(&mut self, name: &str, a: Args) {
        let ids = descriptors_of(name).iter().map(|at| self.descriptors.id(a.int(*at)));
        if let Some(id) = ids.into_iter().flatten().next() {
            let own = self.descriptors.name_of(id);
            self.finish_inconclusive(format!(
                "the program calls '{name}' on {own}, which is not modelled"
            ));
        }
    }
}
