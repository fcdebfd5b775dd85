//! Builds that were made before, kept so that the next run starts fast. (`lowered.rs` keeps what is made of them.)
//!
//! An entry is named by a hash of everything that goes into the commands: the tools, directory,
//! sources, flags and the environment variables that clang reads. It lists every file the compiler
//! read, sources and headers alike (from its dependency output). It is used if each of them is
//! unchanged: by size, times and inode, or, where those differ, by content.
//!
//! What is *not* noticed: a new header that would be found before the one used last time, and a
//! change of what `__has_include` asks for. `UNRAVEL_CACHE=off` is for that.
//!
//! The cache never makes a build fail: what cannot be read is built again, what cannot be written
//! is not kept.

use std::fmt::Write;
use std::fs::{self, File};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use super::compile::Made;
use super::sealed::{self, Kind};
use super::tools::Tools;
use super::{Plan, hash};

/// Raise the version with any change to [`Header`], or to what the commands do.
const KIND: Kind = Kind { magic: *b"\x89UCACHE\n", version: 2 };

/// Entries beyond this are removed, those first that were not used for longest.
pub(super) const MAX_BYTES: u64 = 512 << 20;

/// Variables that change what clang finds.
const VARIABLES: [&str; 5] =
    ["CPATH", "C_INCLUDE_PATH", "CPLUS_INCLUDE_PATH", "CCC_OVERRIDE_OPTIONS", "SOURCE_DATE_EPOCH"];

#[derive(Serialize, Deserialize)]
struct Header {
    /// All of it, because hashes may agree by chance.
    key: String,
    inputs: Vec<Input>,
    warnings: String,
}

/// A file that was read, as it was.
#[derive(Serialize, Deserialize)]
struct Input {
    path: PathBuf,
    stamp: Stamp,
    /// Of the content.
    hash: u64,
}

/// Equal stamps mean an equal file: its content cannot change without its change time doing so.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(super) struct Stamp {
    bytes: u64,
    inode: u64,
    device: u64,
    /// In nanoseconds since the epoch.
    modified: i128,
    changed: i128,
}

impl Stamp {
    pub fn of(path: &Path) -> Option<Stamp> {
        let metadata = fs::metadata(path).ok().filter(|metadata| metadata.is_file())?;
        let nanoseconds = |s: i64, n: i64| i128::from(s) * 1_000_000_000 + i128::from(n);
        Some(Stamp {
            bytes: metadata.len(),
            inode: metadata.ino(),
            device: metadata.dev(),
            modified: nanoseconds(metadata.mtime(), metadata.mtime_nsec()),
            changed: nanoseconds(metadata.ctime(), metadata.ctime_nsec()),
        })
    }
}

impl Input {
    /// `None` if the file may have changed since the compiler was started: what is there now need
    /// not be what was compiled.
    fn read(path: &Path, began: SystemTime) -> Option<Input> {
        let stamp = Stamp::of(path)?;
        let began = began.duration_since(UNIX_EPOCH).ok()?.as_nanos();
        if stamp.changed >= i128::try_from(began).ok()? {
            return None;
        }
        let hash = hash::bytes(&fs::read(path).ok()?);
        Some(Input { path: path.to_path_buf(), stamp, hash })
    }

    fn is_unchanged(&self) -> bool {
        match Stamp::of(&self.path) {
            None => false,
            Some(stamp) if stamp == self.stamp => true,
            Some(stamp) => {
                stamp.bytes == self.stamp.bytes
                    && fs::read(&self.path).is_ok_and(|text| hash::bytes(&text) == self.hash)
            }
        }
    }
}

/// The place in the cache for one build.
pub(super) struct Cache {
    key: String,
    entry: PathBuf,
}

impl Cache {
    pub fn new(directory: &Path, plan: &Plan, tools: &Tools) -> Cache {
        let key = key(plan, tools);
        let entry = directory.join(format!("{:032x}.build", hash::wide(key.as_bytes())));
        Cache { key, entry }
    }

    /// The build, if it was made before and nothing has changed.
    pub fn find(&self) -> Option<Made> {
        let (header, bitcode) = sealed::read::<Header>(&self.entry, KIND).ok()?;
        if header.key != self.key || !header.inputs.iter().all(Input::is_unchanged) {
            return None;
        }
        used_now(&self.entry);
        let inputs = header.inputs.into_iter().map(|input| input.path).collect();
        Some(Made { bitcode, warnings: header.warnings, inputs, began: SystemTime::now() })
    }

    /// Keeps a build, if that is possible.
    pub fn keep(&self, made: &Made) {
        let inputs = made.inputs.iter().map(|path| Input::read(path, made.began)).collect();
        let (Some(inputs), Some(directory)) = (inputs, self.entry.parent()) else { return };
        let header = Header { key: self.key.clone(), inputs, warnings: made.warnings.clone() };
        let kept = fs::create_dir_all(directory).is_ok()
            && sealed::write(&self.entry, KIND, &header, &made.bitcode).is_ok();
        if kept {
            prune(directory, MAX_BYTES);
        }
    }
}

/// All that decides what the tools are told.
fn key(plan: &Plan, tools: &Tools) -> String {
    let mut key = String::new();
    let mut line = |name: &str, value: &dyn std::fmt::Debug| {
        writeln!(key, "{name} {value:?}").expect("strings take all that is written");
    };
    line("version", &env!("CARGO_PKG_VERSION"));
    // An update of the compiler changes its stamp, but not necessarily its path.
    for tool in [Some(&tools.clang), tools.linker.as_ref()].into_iter().flatten() {
        let stamp = Stamp::of(tool).map(|stamp| (stamp.bytes, stamp.modified));
        line("tool", &(tool, stamp));
    }
    line("directory", &plan.directory);
    line("optimise", &plan.optimise);
    for name in VARIABLES {
        line(name, &std::env::var_os(name));
    }
    for unit in &plan.units {
        line("unit", &(&unit.source, unit.language, &unit.flags));
    }
    key
}

/// Tells which entries are used. If it does not work, the wrong one may go first.
pub(super) fn used_now(entry: &Path) {
    let _ = File::open(entry).and_then(|file| file.set_modified(SystemTime::now()));
}

/// Removes the entries used least recently until the rest takes at most `limit` bytes.
pub(super) fn prune(directory: &Path, limit: u64) {
    let Ok(files) = fs::read_dir(directory) else { return };
    let mut entries: Vec<(SystemTime, u64, PathBuf)> = files
        .filter_map(|file| {
            let path = file.ok()?.path();
            let metadata = fs::metadata(&path).ok()?;
            let is_entry =
                path.extension().is_some_and(|ending| ending == "build" || ending == "lowered");
            is_entry.then_some((metadata.modified().ok()?, metadata.len(), path))
        })
        .collect();
    entries.sort();
    let mut bytes: u64 = entries.iter().map(|(_, bytes, _)| bytes).sum();
    for (_, size, path) in entries {
        if bytes <= limit {
            return;
        }
        // Another process may have removed it already.
        let _ = fs::remove_file(path);
        bytes = bytes.saturating_sub(size);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_entries_go_first() {
        let directory = tempfile::tempdir().expect("temporary directory");
        for (name, age) in [("a.build", 30), ("b.build", 10), ("c.lowered", 20), ("d.txt", 99)] {
            let path = directory.path().join(name);
            fs::write(&path, [0; 100]).expect("writes");
            let then = SystemTime::now() - std::time::Duration::from_secs(age);
            let file = File::options().write(true).open(path).expect("opens");
            file.set_modified(then).expect("sets the time");
        }
        prune(directory.path(), 150);
        let is_there = |name| directory.path().join(name).exists();
        assert_eq!(
            ["a.build", "b.build", "c.lowered", "d.txt"].map(is_there),
            [false, true, false, true]
        );
    }
}
