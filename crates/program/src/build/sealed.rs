//! The frame that containers and cache entries share: a header in postcard's encoding and a body of
//! plain bytes under one checksum.
//!
//! | bytes | what |
//! |---|---|
//! | 8 | magic |
//! | 4 | version |
//! | 8 | length of the header |
//! | 8 | length of the body |
//! | 4 | CRC-32 of version, lengths, header and body |
//! | … | header, body |
//!
//! The reader compares the lengths with the file's before it reads or allocates. The checksum finds
//! accidents, not forgeries.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;

use serde::Serialize;
use serde::de::DeserializeOwned;
use thiserror::Error;

/// Length of what comes before the header.
const FIXED: usize = 32;

/// What a kind of file begins with.
#[derive(Clone, Copy, Debug)]
pub(super) struct Kind {
    pub magic: [u8; 8],
    pub version: u32,
}

/// A sealed file cannot be used.
#[derive(Debug, Error)]
pub enum SealError {
    #[error("{0}")]
    Io(io::Error),
    #[error("it does not begin like a file that `unravel build` made")]
    WrongMagic,
    #[error("it has format {found}, this program reads up to {supported}; update unravel")]
    Newer { found: u32, supported: u32 },
    #[error("it has format {found}, this program reads only {supported}; build it again")]
    Older { found: u32, supported: u32 },
    #[error("it is truncated: {expected} bytes expected, {actual} there; build it again")]
    Truncated { expected: u64, actual: u64 },
    #[error("it is corrupt: {expected} bytes expected, {actual} there; build it again")]
    TrailingBytes { expected: u64, actual: u64 },
    #[error("it is corrupt (the checksum is wrong); build it again")]
    Corrupt,
    #[error("its content cannot be {action} ({reason}); build it again")]
    Undecodable { action: &'static str, reason: String },
}

/// Writes a sealed file in one step: `path` holds all of it or what was there before.
pub(super) fn write(
    path: &Path,
    kind: Kind,
    header: &impl Serialize,
    body: &[u8],
) -> Result<(), SealError> {
    let header = postcard::to_stdvec(header)
        .map_err(|e| SealError::Undecodable { action: "encoded", reason: e.to_string() })?;
    let mut start = Vec::with_capacity(FIXED + header.len());
    start.extend(kind.magic);
    start.extend(kind.version.to_le_bytes());
    start.extend((header.len() as u64).to_le_bytes());
    start.extend((body.len() as u64).to_le_bytes());
    let checksum = checksum(&start[kind.magic.len()..], &header, body);
    start.extend(checksum.to_le_bytes());
    start.extend(header);
    replace(path, &start, body).map_err(SealError::Io)
}

fn replace(path: &Path, start: &[u8], body: &[u8]) -> io::Result<()> {
    // A device or pipe is written to; taking its name would destroy it.
    if path.metadata().is_ok_and(|m| !m.is_file()) {
        let mut file = File::options().write(true).open(path)?;
        return file.write_all(start).and_then(|()| file.write_all(body));
    }
    let directory = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    // Temporary files are private unless told otherwise; others may read what we build.
    let mut options = tempfile::Builder::new();
    #[cfg(unix)]
    options.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    let mut file = options.prefix(".unravel-").tempfile_in(directory)?;
    file.write_all(start)?;
    file.write_all(body)?;
    file.persist(path).map_err(|e| e.error)?;
    Ok(())
}

/// Reads header and body of a sealed file.
pub(super) fn read<H: DeserializeOwned>(
    path: &Path,
    kind: Kind,
) -> Result<(H, Vec<u8>), SealError> {
    let file = File::open(path).map_err(SealError::Io)?;
    let size = file.metadata().map_err(SealError::Io)?.len();
    let mut start = Vec::with_capacity(FIXED);
    (&file).take(FIXED as u64).read_to_end(&mut start).map_err(SealError::Io)?;
    let known = start.len().min(kind.magic.len());
    if start[..known] != kind.magic[..known] {
        return Err(SealError::WrongMagic);
    }
    let Ok(fixed) = <[u8; FIXED]>::try_from(start) else {
        return Err(SealError::Truncated { expected: FIXED as u64, actual: size });
    };
    let word = |at: usize| u32::from_le_bytes([0, 1, 2, 3].map(|i| fixed[at + i]));
    let long = |at: usize| u64::from(word(at)) | u64::from(word(at + 4)) << 32;
    let (found, supported) = (word(8), kind.version);
    if found > supported {
        return Err(SealError::Newer { found, supported });
    }
    if found < supported {
        return Err(SealError::Older { found, supported });
    }
    let (header, body) = (long(12), long(20));
    let expected = (FIXED as u64).saturating_add(header).saturating_add(body);
    if size < expected {
        return Err(SealError::Truncated { expected, actual: size });
    }
    if size > expected {
        return Err(SealError::TrailingBytes { expected, actual: size });
    }
    let part = |length: u64| -> Result<Vec<u8>, SealError> {
        let mut bytes = Vec::new();
        (&file).take(length).read_to_end(&mut bytes).map_err(SealError::Io)?;
        Ok(bytes)
    };
    let (header, body) = (part(header)?, part(body)?);
    // Covers a file that shrank meanwhile, too.
    if checksum(&fixed[kind.magic.len()..FIXED - 4], &header, &body) != word(28) {
        return Err(SealError::Corrupt);
    }
    match postcard::take_from_bytes::<H>(&header) {
        Ok((header, [])) => Ok((header, body)),
        Ok((_, rest)) => Err(undecodable(format!("{} bytes are left over", rest.len()))),
        Err(e) => Err(undecodable(e.to_string())),
    }
}

fn undecodable(reason: String) -> SealError {
    SealError::Undecodable { action: "decoded", reason }
}

fn checksum(fixed: &[u8], header: &[u8], body: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(fixed);
    hasher.update(header);
    hasher.update(body);
    hasher.finalize()
}
