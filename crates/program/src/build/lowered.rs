//! Lowered programs that were made before, kept so that the next command starts fast: reading and lowering a large program's bitcode
//! takes seconds.
//!
//! An entry is named by a hash of the bitcode, of where variables are, and of this very tool: another build of it may lower
//! otherwise. What is read is what was lowered, to the order of its tables ([`load_with`] gives no other value), so no search depends
//! on the cache.
//! The checksum finds accidents, not forgeries: the cache is the user's own, as the tool is.
//!
//! As with builds, what cannot be read is lowered again, and what cannot be written is not kept. Small programs are not kept: they are
//! lowered in the time that it takes to look.

use std::fs;
use std::path::{Path, PathBuf};

use unravel_code::Program;

use super::cache::{MAX_BYTES, Stamp, prune, used_now};
use super::sealed::{self, Kind};
use super::{Builder, hash};
use crate::load::{LARGE, decode, load_to_keep};
use crate::{LoadError, Locals, load_with};

/// What the entry of a build of this tool holds is known by its name.
const KIND: Kind = Kind { magic: *b"\x89ULOWER\n", version: 1 };

impl Builder {
    /// The same as [`load_with`], which has done it before if the program is large and was asked for before.
    pub fn lower(&self, bitcode: &[u8], locals: Locals) -> Result<Program, LoadError> {
        let directory = self.cache.as_deref().filter(|_| bitcode.len() >= LARGE);
        let Some(entry) = directory.and_then(|directory| entry(directory, bitcode, locals)) else {
            return load_with(bitcode, locals);
        };
        if let Ok((bytes, kept)) = sealed::read::<u64>(&entry, KIND)
            && bytes == bitcode.len() as u64
            && let Some(program) = decode(&kept)
        {
            used_now(&entry);
            return Ok(program);
        }
        let (program, bytes) = load_to_keep(bitcode, locals)?;
        if let (Some(bytes), Some(directory)) = (bytes, directory) {
            let kept = fs::create_dir_all(directory).is_ok()
                && sealed::write(&entry, KIND, &(bitcode.len() as u64), &bytes).is_ok();
            if kept {
                prune(directory, MAX_BYTES);
            }
        }
        Ok(program)
    }
}

/// Where a lowered program is kept; `None` if it is not known what lowers it.
fn entry(directory: &Path, bitcode: &[u8], locals: Locals) -> Option<PathBuf> {
    let tool = Stamp::of(&std::env::current_exe().ok()?)?;
    let made = format!("{:032x} {locals:?} {tool:?}", hash::wide(bitcode));
    Some(directory.join(format!("{:032x}.lowered", hash::wide(made.as_bytes()))))
}
