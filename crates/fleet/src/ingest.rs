//! Taking files of instances into a store: each log once, and whatever is no log of this build is set aside, with the reason.
//!
//! A file is copied first and read then, so that nobody changes what was looked at; links and anything but plain files are not followed.
//! A log goes into the store under its id, by a rename that either happened or did not: ingesting again, after a crash too, takes
//! nothing twice. Files that were looked at are remembered by path, size and time, and not read again.

use std::collections::{BTreeMap, HashSet};
use std::fs::{self, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use serde::Serialize;
use sha2::{Digest, Sha256};
use unravel_coop::Profile;

use crate::apart::{Welcome, check};
use crate::budgets::MOST_BYTES;
use crate::schema::SchemaError;
use crate::store::{Store, StoreError};

/// Why a file was set aside.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
#[repr(u8)]
pub enum Aside {
    /// No plain file: a link, a folder, a device.
    NotAFile,
    TooLarge,
    NotParquet,
    Truncated,
    /// Parquet, but with other columns, or damaged.
    NotALog,
    /// Of another version of the schema.
    OtherVersion,
    /// Of another program, or of other elements.
    ForeignBuild,
    /// A log of this id is in the store already.
    Duplicate,
    /// It contradicts itself, or reading it took too much memory or time, or killed the reader.
    Hostile,
    /// It could not be read here and now.
    Unreadable,
}

impl Aside {
    pub const ALL: [Aside; 10] = {
        use Aside::*;
        [
            NotAFile,
            TooLarge,
            NotParquet,
            Truncated,
            NotALog,
            OtherVersion,
            ForeignBuild,
            Duplicate,
            Hostile,
            Unreadable,
        ]
    };

    pub fn name(self) -> &'static str {
        match self {
            Aside::NotAFile => "not-a-file",
            Aside::TooLarge => "too-large",
            Aside::NotParquet => "not-parquet",
            Aside::Truncated => "truncated",
            Aside::NotALog => "not-a-log",
            Aside::OtherVersion => "other-version",
            Aside::ForeignBuild => "foreign-build",
            Aside::Duplicate => "duplicate",
            Aside::Hostile => "hostile",
            Aside::Unreadable => "unreadable",
        }
    }

    pub(crate) fn of(error: &SchemaError) -> Aside {
        match error {
            SchemaError::Io(_) => Aside::Unreadable,
            SchemaError::NotParquet => Aside::NotParquet,
            SchemaError::Truncated => Aside::Truncated,
            SchemaError::TooLarge(_) => Aside::TooLarge,
            SchemaError::NotALog(_) | SchemaError::Damaged(_) => Aside::NotALog,
            SchemaError::Version { .. } => Aside::OtherVersion,
            SchemaError::Contradicts(_) => Aside::Hostile,
        }
    }
}

/// What became of the files.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Ingested {
    /// Logs that are in the store now and were not before.
    pub taken: u64,
    /// Files that were looked at earlier.
    pub known: u64,
    pub aside: BTreeMap<Aside, u64>,
}

/// Takes all files of these folders, or single files, into a store.
pub fn ingest(store: &Store, profile: &Profile, from: &[PathBuf]) -> Result<Ingested, StoreError> {
    let mut ingested = Ingested::default();
    let mut seen = store.seen()?;
    let mut copies: Vec<(PathBuf, PathBuf, String)> = Vec::new();
    let scratch = store.scratch()?;
    for path in listed(from)? {
        let Some(mark) = mark(&path) else {
            count(&mut ingested, Aside::Unreadable);
            continue;
        };
        if !seen.insert(mark.clone()) {
            ingested.known += 1;
            continue;
        }
        let copy = scratch.path().join(copies.len().to_string());
        match copy_bounded(&path, &copy) {
            Ok(()) => copies.push((path, copy, mark)),
            Err(why) => {
                count(&mut ingested, why);
                store.remember(&mark)?;
            }
        }
    }
    let files: Vec<PathBuf> = copies.iter().map(|(_, copy, _)| copy.clone()).collect();
    let elements = profile.ids();
    let welcome = Welcome { build: profile.build(), elements: &elements };
    let answers =
        check(&files, welcome).map_err(|source| StoreError::at(store.folder(), source))?;
    let mut there: HashSet<_> = store.ids()?.into_iter().collect();
    for ((path, copy, mark), answer) in copies.iter().zip(answers) {
        let answer = answer.and_then(|id| match there.insert(id) {
            true => Ok(id),
            false => Err(Aside::Duplicate),
        });
        match answer {
            Ok(id) => {
                store.take(copy, id)?;
                ingested.taken += 1;
            }
            Err(why) => {
                count(&mut ingested, why);
                set_aside(store, path, copy, why)?;
            }
        }
        store.remember(mark)?;
    }
    Ok(ingested)
}

fn count(ingested: &mut Ingested, why: Aside) {
    *ingested.aside.entry(why).or_default() += 1;
}

/// The files of folders, in the order of their names; links are listed, and refused later.
fn listed(from: &[PathBuf]) -> Result<Vec<PathBuf>, StoreError> {
    let mut all = Vec::new();
    for path in from {
        if !path.is_dir() {
            all.push(path.clone());
            continue;
        }
        let entries = fs::read_dir(path).map_err(|source| StoreError::at(path, source))?;
        for entry in entries {
            all.push(entry.map_err(|source| StoreError::at(path, source))?.path());
        }
    }
    all.sort();
    Ok(all)
}

/// What a file is remembered by: a line.
fn mark(path: &Path) -> Option<String> {
    let metadata = fs::symlink_metadata(path).ok()?;
    let path = std::path::absolute(path).ok()?;
    let (size, time, nanos) = (metadata.len(), metadata.mtime(), metadata.mtime_nsec());
    // A path may hold a line end; a mark may not.
    Some(format!("{size} {time}.{nanos:09} {:?}", path.as_os_str()))
}

fn copy_bounded(from: &Path, to: &Path) -> Result<(), Aside> {
    let metadata = fs::symlink_metadata(from).map_err(|_| Aside::Unreadable)?;
    if !metadata.is_file() {
        return Err(Aside::NotAFile);
    }
    if metadata.len() > MOST_BYTES {
        return Err(Aside::TooLarge);
    }
    let source = OpenOptions::new()
        .read(true)
        .custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK)
        .open(from)
        .map_err(|_| Aside::Unreadable)?;
    let mut bytes = Vec::new();
    source.take(MOST_BYTES + 1).read_to_end(&mut bytes).map_err(|_| Aside::Unreadable)?;
    if bytes.len() as u64 > MOST_BYTES {
        return Err(Aside::TooLarge);
    }
    let copy = OpenOptions::new().write(true).create_new(true).mode(0o600).open(to);
    copy.and_then(|mut copy| copy.write_all(&bytes)).map_err(|_| Aside::Unreadable)
}

/// Keeps what is no log, under a name of ours: that of the file is not to be trusted.
fn set_aside(store: &Store, path: &Path, copy: &Path, why: Aside) -> Result<(), StoreError> {
    let mut hash = Sha256::new();
    hash.update(path.as_os_str().as_encoded_bytes());
    hash.update(fs::read(copy).map_err(|source| StoreError::at(copy, source))?);
    let name: String = hash.finalize().iter().take(16).map(|byte| format!("{byte:02x}")).collect();
    store.set_aside(copy, why.name(), &name)
}
