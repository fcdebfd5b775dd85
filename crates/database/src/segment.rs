//! One file of a database. Each writer has its own and only ever appends to it, so writers cannot get into each other's
//! way, and a crash costs at most the end of one file.
//!
//! A writer holds an advisory lock on its segment while it lives. A segment that can be locked is closed for ever: nobody
//! opens one a second time. Forked children inherit the lock; it ends with the last of them.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

use crate::error::DatabaseError;
use crate::frame::{Frames, Piece};
use crate::id::WriterId;
use crate::record::Record;

const MAGIC: [u8; 8] = *b"\x89UTDBSEG";
const HEAD_BYTES: usize = 20;

/// How the names of complete segments end. Whatever else lies there is somebody's beginning.
pub const SUFFIX: &str = ".seg";
pub const TEMPORARY: &str = ".tmp";

/// The beginning of a segment of this program: magic, fingerprint, and the CRC-32 of both.
fn head(fingerprint: u64) -> [u8; HEAD_BYTES] {
    let mut head = [0; HEAD_BYTES];
    head[..8].copy_from_slice(&MAGIC);
    head[8..16].copy_from_slice(&fingerprint.to_le_bytes());
    let checksum = crc32fast::hash(&head[..16]);
    head[16..].copy_from_slice(&checksum.to_le_bytes());
    head
}

pub fn failed(path: &Path, action: &'static str) -> impl Fn(io::Error) -> DatabaseError + use<> {
    let path = path.to_owned();
    move |source| DatabaseError::Io { path: path.clone(), action, source }
}

/// A segment that is being written.
#[derive(Debug)]
pub struct Segment {
    file: File,
    path: PathBuf,
}

impl Segment {
    /// A new one among the segments of a database, locked.
    pub fn create(directory: &Path, fingerprint: u64) -> Result<Segment, DatabaseError> {
        let mut segment = Segment::begin(directory, fingerprint)?;
        segment.publish()?;
        Ok(segment)
    }

    /// One that no reader sees yet.
    pub fn begin(directory: &Path, fingerprint: u64) -> Result<Segment, DatabaseError> {
        fs::create_dir_all(directory).map_err(failed(directory, "create"))?;
        loop {
            let path = directory.join(format!("{}{TEMPORARY}", WriterId::unique()));
            let write = failed(&path, "write");
            let mut file = File::create_new(&path).map_err(&write)?;
            lock(&file, libc::LOCK_EX).map_err(&write)?;
            // Between its creation and its lock somebody may have taken it for an abandoned one and cleared it away.
            if path.exists() {
                file.write_all(&head(fingerprint)).map_err(&write)?;
                return Ok(Segment { file, path });
            }
        }
    }

    /// Gives it the name by which readers find it.
    pub fn publish(&mut self) -> Result<(), DatabaseError> {
        let name = self.path.with_extension(&SUFFIX[1..]);
        let write = failed(&self.path, "rename");
        fs::rename(&self.path, &name).map_err(write)?;
        self.path = name;
        Ok(())
    }

    /// Removes one that was never published.
    pub fn abandon(self) {
        // It is only clutter: the next compaction tries again.
        let _ = fs::remove_file(&self.path);
    }

    pub fn append(&mut self, frames: &[u8]) -> Result<(), DatabaseError> {
        self.file.write_all(frames).map_err(failed(&self.path, "write"))
    }

    pub fn bytes(&self) -> Result<u64, DatabaseError> {
        let metadata = self.file.metadata().map_err(failed(&self.path, "read"))?;
        Ok(metadata.len())
    }

    /// Returns when everything, the name too, is on the disk.
    pub fn sync(&mut self) -> Result<(), DatabaseError> {
        let synced = self.file.sync_all().and_then(|()| match self.path.parent() {
            Some(directory) => File::open(directory)?.sync_all(),
            None => Ok(()),
        });
        synced.map_err(failed(&self.path, "write"))
    }
}

/// What was found in a segment.
#[derive(Debug)]
pub struct Found {
    pub records: Vec<Record>,
    pub damaged: u64,
    /// Its end is missing, and its writer does not live any more.
    pub torn: bool,
    /// Whether somebody still writes to it.
    pub live: bool,
    pub bytes: u64,
    /// It does not begin like a segment of this program; nothing of it was read.
    pub unusable: bool,
}

/// Reads what is there. `None` if the file has vanished.
pub fn read(path: &Path, fingerprint: u64) -> Result<Option<Found>, DatabaseError> {
    let vanished = |error: &io::Error| error.kind() == io::ErrorKind::NotFound;
    let file = match fs::metadata(path).and_then(|metadata| {
        // Opening a pipe nobody writes to would wait for ever.
        if metadata.is_file() { File::open(path) } else { Err(io::ErrorKind::InvalidInput.into()) }
    }) {
        Err(error) if vanished(&error) => return Ok(None),
        opened => opened.map_err(failed(path, "read"))?,
    };
    // Asked first: what a living writer appends meanwhile is no damage.
    let live = lock(&file, libc::LOCK_EX | libc::LOCK_NB).is_err();
    let mut bytes = Vec::new();
    (&file).read_to_end(&mut bytes).map_err(failed(path, "read"))?;
    let mut found = Found {
        records: Vec::new(),
        damaged: 0,
        torn: false,
        live,
        bytes: bytes.len() as u64,
        unusable: false,
    };
    let expected = head(fingerprint);
    let Some(frames) = bytes.strip_prefix(&expected) else {
        found.torn = expected.starts_with(&bytes) && !live;
        found.unusable = !expected.starts_with(&bytes);
        return Ok(Some(found));
    };
    for piece in Frames::of(frames) {
        match piece {
            Piece::Payload(payload) => match Record::decode(&payload) {
                Some(record) => found.records.push(record),
                None => found.damaged += 1,
            },
            Piece::Damaged => found.damaged += 1,
            Piece::Torn => found.torn = !live,
        }
    }
    Ok(Some(found))
}

/// Removes beginnings of segments whose writers do not live any more.
pub fn clear_away(directory: &Path) {
    let Ok(entries) = fs::read_dir(directory) else { return };
    for path in entries.flatten().map(|entry| entry.path()) {
        if !path.to_string_lossy().ends_with(TEMPORARY) {
            continue;
        }
        let Ok(file) = File::open(&path) else { continue };
        if lock(&file, libc::LOCK_EX | libc::LOCK_NB).is_ok() {
            // Whoever created it a moment ago notices, and begins anew.
            let _ = fs::remove_file(&path);
        }
    }
}

/// The advisory lock of the whole file. It ends when the file is closed. (`File::try_lock` needs Rust 1.89.)
fn lock(file: &File, how: i32) -> io::Result<()> {
    // SAFETY: the descriptor is open, and nothing else is passed.
    match unsafe { libc::flock(file.as_raw_fd(), how) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
