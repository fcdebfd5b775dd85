//! Makes one segment of many.
//!
//! Only segments that nobody writes to any more are taken. The new one is complete and on the disk, under its name, before
//! an old one goes; until then everything is there twice, which readers do not mind. Two compactions at a time make two
//! segments with the same content, and each removes only what its own holds. What could not be read is gone afterwards; a
//! segment that does not even begin as one of this program stays where it is.

use std::fs;

use unravel_results::Damage;

use crate::contents::Contents;
use crate::database::{Database, Place};
use crate::directory::{Directory, Gathered};
use crate::error::DatabaseError;
use crate::segment::{self, Segment};

/// What compacting did.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Compacted {
    /// Segments that were replaced by one.
    pub segments: usize,
    pub bytes_before: u64,
    pub bytes_after: u64,
    /// Segments that were left because somebody writes to them.
    pub live: usize,
    /// What could not be read and is gone now.
    pub dropped: Damage,
}

impl Database {
    /// Flushes, closes this writer's segment, and rewrites all closed segments as one.
    pub fn compact(&mut self) -> Result<Compacted, DatabaseError> {
        self.flush()?;
        let directory = match &mut self.place {
            Place::Memory => return Ok(Compacted::default()),
            Place::ReadOnly(directory) => {
                return Err(DatabaseError::ReadOnly { path: directory.path.clone() });
            }
            Place::Writable(directory, segment) => {
                *segment = None;
                directory.clone()
            }
        };
        segment::clear_away(&directory.segments());
        let old = directory.gather(true)?;
        let bytes_after = rewrite(&directory, &old)?;
        let all = directory.gather(false)?;
        (self.contents, self.damage) = (all.contents, all.damage);
        Ok(Compacted {
            segments: old.closed.len(),
            bytes_before: old.closed_bytes,
            bytes_after,
            live: old.live,
            dropped: Damage { segments: 0, incomplete: 0, ..old.damage },
        })
    }
}

/// The size of what replaces the old segments.
fn rewrite(directory: &Directory, old: &Gathered) -> Result<u64, DatabaseError> {
    if old.closed.is_empty() {
        return Ok(0);
    }
    let mut segment = Segment::begin(&directory.segments(), directory.program.fingerprint)?;
    let written = write(&mut segment, &old.contents);
    let bytes = match written {
        Ok(()) => segment.publish().and_then(|()| segment.sync()).and_then(|()| segment.bytes())?,
        Err(error) => {
            segment.abandon();
            return Err(error);
        }
    };
    for path in &old.closed {
        match fs::remove_file(path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(segment::failed(path, "remove")(error));
            }
            _ => {}
        }
    }
    Ok(bytes)
}

fn write(segment: &mut Segment, contents: &Contents) -> Result<(), DatabaseError> {
    for record in contents.records() {
        segment.append(&record.framed()?)?;
    }
    segment.sync()
}
