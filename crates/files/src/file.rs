//! The trace file: one run, and what `replay` needs to make it again.
//!
//! Writer and reader stand together here. A file is a header of 32 bytes and a body:
//!
//! | bytes | what |
//! |---|---|
//! | 8 | magic, [`MAGIC`] |
//! | 4 | format version, [`FormatVersion`] |
//! | 8 | length of the body as it stands in the file |
//! | 8 | length of the payload, which is the body inflated |
//! | 4 | CRC-32 of version, both lengths and body |
//! | … | body: the [`TraceFile`] in postcard's encoding (varints), deflated |
//!
//! Numbers are little-endian. Measured on 50,000 events of four threads: postcard 434 kB, with
//! LZ4 213 kB, with deflate 131 kB in 30 ms; storing the events column by column, with sites as
//! differences, gains another 12 %, which does not pay for a second description of every event.
//!
//! The reader trusts nothing: it looks at the header before anything else, compares declared
//! lengths with the real ones before it allocates, bounds what inflating may yield, and checks
//! every index of the decoded value ([`TraceFile::validate`]), so that who reads a trace may index
//! with the ids in it. It does *not* check that the trace makes sense as an execution (that a lock
//! is free when it is taken, that a count of a segment is reached): only `replay` can tell. The
//! checksum finds accidents, not forgeries.
//!
//! Any change to a type that is stored here is a new format: raise [`FormatVersion::CURRENT`]. The
//! test `the_format_is_pinned` notices when that was forgotten. Formats from
//! [`FormatVersion::OLDEST`] on are read and converted (`version5.rs`, `version6.rs`, `version7.rs`), so that findings that
//! somebody keeps stay useful; older ones are refused: a trace is made again by a command.

mod validate;
mod version5;
mod version6;
mod version7;

pub use validate::{validate_schedule, validate_thread};

use std::fmt;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use serde::{Deserialize, Serialize};
use thiserror::Error;
use unravel_trace::{Input, Rules, Run};

/// How every trace file begins. The byte that is not ASCII and the line end show damage by
/// programs that take the file for text.
pub const MAGIC: [u8; 8] = *b"\x89UTRACE\n";

/// Length of the header.
pub const HEADER_BYTES: usize = 32;

/// No payload is longer. Ten million events take about a tenth of it.
pub const MAX_PAYLOAD_BYTES: u64 = 1 << 30;

/// Deflate cannot do better than this, so a header that declares more lies.
const MAX_RATIO: u64 = 1032;

/// The compression level: 9 makes files 2 % smaller and takes twice as long.
const LEVEL: u8 = 6;
/// That of long runs, which would take seconds: 1 takes a quarter of the time and makes files a third larger.
const FAST: u8 = 1;
/// A payload is long from so many bytes on.
const LONG: usize = 4 << 20;

/// The version of the file format.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct FormatVersion(pub u32);

impl FormatVersion {
    /// What is written.
    pub const CURRENT: FormatVersion = FormatVersion(8);
    /// The oldest that can be read.
    pub const OLDEST: FormatVersion = FormatVersion(5);
}

impl fmt::Display for FormatVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// What is in a trace file.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct TraceFile {
    pub program: ProgramRef,
    pub input: Input,
    /// What counts as a failure for this user.
    pub rules: Rules,
    /// The strategy that found the run, as the command line spells it: `random`, `pct`.
    pub strategy: String,
    /// The seed of the schedule that was run, if the strategy has one.
    pub seed: Option<u64>,
    /// The engine that executed the run; empty for an imported one.
    pub engine: String,
    pub run: Run,
}

/// Which program a trace belongs to, and how to make it again.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct ProgramRef {
    /// As the user wrote them, relative to `cwd`.
    pub sources: Vec<String>,
    /// Flags for the compiler.
    pub flags: Vec<String>,
    /// What reports call the program.
    pub name: String,
    /// Identifies the bitcode that ran. Another fingerprint after a rebuild means that the program
    /// has changed, and that the schedule may not fit.
    pub fingerprint: u64,
    /// The bitcode or container the user gave instead of sources.
    pub built: Option<String>,
    /// The directory the command ran in.
    pub cwd: String,
}

/// A trace file could not be read or written.
#[derive(Debug, Error)]
pub enum FileError {
    #[error("there is no trace file {}", path.display())]
    NotFound { path: PathBuf },
    #[error("cannot {action} the trace file {}: {source}", path.display())]
    Io { path: PathBuf, action: &'static str, source: io::Error },
    #[error("{}: {problem}", path.display())]
    Format { path: PathBuf, problem: FormatError },
}

/// These bytes are not a trace file that this version can use.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum FormatError {
    #[error("not an unravel trace file (it does not begin like one)")]
    NotATrace,
    #[error(
        "written by a newer unravel: the file has format {found}, this program reads up to \
         format {supported}; update unravel to open it"
    )]
    NewerVersion { found: FormatVersion, supported: FormatVersion },
    #[error(
        "written by an older unravel: the file has format {found}, this program reads from \
         format {oldest} on; make the trace again with `unravel find`"
    )]
    OlderVersion { found: FormatVersion, oldest: FormatVersion },
    #[error("truncated trace file: {expected} bytes expected, {actual} there; copy it again")]
    Truncated { expected: u64, actual: u64 },
    #[error("corrupt trace file: it should end after {expected} bytes but has {actual}")]
    TrailingBytes { expected: u64, actual: u64 },
    #[error("corrupt trace file: checksum {actual:08x}, but {expected:08x} expected")]
    Corrupt { expected: u32, actual: u32 },
    #[error("the trace is too large: {bytes} bytes, at most {} can be stored", MAX_PAYLOAD_BYTES)]
    TooLarge { bytes: u64 },
    #[error("the checksum of the trace file is right, but its content cannot be decoded: {reason}")]
    Undecodable { reason: String },
    #[error("the trace contradicts itself: {what}")]
    Inconsistent { what: String },
}

/// The fixed part at the beginning.
struct Header {
    version: FormatVersion,
    stored: u64,
    payload: u64,
    checksum: u32,
}

impl Header {
    /// Reads the beginning of a file of `size` bytes and checks everything that can be checked
    /// without the body. `start` holds the first [`HEADER_BYTES`], or all there are.
    fn parse(start: &[u8], size: u64) -> Result<Header, FormatError> {
        let truncated = FormatError::Truncated { expected: HEADER_BYTES as u64, actual: size };
        let known = start.len().min(MAGIC.len());
        if start[..known] != MAGIC[..known] {
            return Err(FormatError::NotATrace);
        }
        let Some(version) = number::<4>(start, 8) else { return Err(truncated) };
        let version = FormatVersion(u32::from_le_bytes(version));
        let (found, oldest) = (version, FormatVersion::OLDEST);
        let supported = FormatVersion::CURRENT;
        if found > supported {
            return Err(FormatError::NewerVersion { found, supported });
        }
        if found < oldest {
            return Err(FormatError::OlderVersion { found, oldest });
        }
        let (Some(stored), Some(payload), Some(checksum)) =
            (number::<8>(start, 12), number::<8>(start, 20), number::<4>(start, 28))
        else {
            return Err(truncated);
        };
        let header = Header {
            version,
            stored: u64::from_le_bytes(stored),
            payload: u64::from_le_bytes(payload),
            checksum: u32::from_le_bytes(checksum),
        };
        let expected = header.stored.saturating_add(HEADER_BYTES as u64);
        if size < expected {
            return Err(FormatError::Truncated { expected, actual: size });
        }
        if size > expected {
            return Err(FormatError::TrailingBytes { expected, actual: size });
        }
        if header.payload > MAX_PAYLOAD_BYTES {
            return Err(FormatError::TooLarge { bytes: header.payload });
        }
        if header.payload > header.stored.saturating_mul(MAX_RATIO) {
            return Err(FormatError::Undecodable {
                reason: format!("{} bytes cannot hold {}", header.stored, header.payload),
            });
        }
        Ok(header)
    }
}

/// The `N` bytes of `bytes` from `at` on, if they are there.
fn number<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..at + N)?.try_into().ok()
}

/// The checksum of version, lengths and body.
fn checksum(fields: &[u8], body: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(fields);
    hasher.update(body);
    hasher.finalize()
}

impl TraceFile {
    /// Whether there is a program to execute again. Not for an imported trace: what is said about it comes from
    /// its symbolic part alone.
    pub fn is_executable(&self) -> bool {
        !self.program.sources.is_empty() || self.program.built.is_some()
    }

    /// The bytes of the file.
    pub fn encode(&self) -> Vec<u8> {
        // Every stored type knows its lengths and the output grows, so nothing can go wrong.
        let payload = postcard::to_stdvec(self).expect("stored types always encode");
        let body = miniz_oxide::deflate::compress_to_vec(
            &payload,
            if payload.len() < LONG { LEVEL } else { FAST },
        );
        let mut file = Vec::with_capacity(HEADER_BYTES + body.len());
        file.extend(MAGIC);
        file.extend(FormatVersion::CURRENT.0.to_le_bytes());
        file.extend((body.len() as u64).to_le_bytes());
        file.extend((payload.len() as u64).to_le_bytes());
        let checksum = checksum(&file[MAGIC.len()..], &body);
        file.extend(checksum.to_le_bytes());
        file.extend(body);
        file
    }

    /// The trace in the bytes of a file.
    pub fn decode(bytes: &[u8]) -> Result<TraceFile, FormatError> {
        let start = &bytes[..bytes.len().min(HEADER_BYTES)];
        let header = Header::parse(start, bytes.len() as u64)?;
        decode_body(start, &header, &bytes[HEADER_BYTES..])
    }

    /// Writes the file so that `path` holds either all of it or what was there before, whenever
    /// this program is stopped.
    pub fn write(&self, path: impl AsRef<Path>) -> Result<(), FileError> {
        let path = path.as_ref();
        let format = |problem| FileError::Format { path: path.to_path_buf(), problem };
        // What the reader would refuse must not be written: the user would lose the finding.
        self.validate().map_err(format)?;
        let bytes = self.encode();
        Header::parse(&bytes[..HEADER_BYTES], bytes.len() as u64).map_err(format)?;
        replace(path, &bytes).map_err(|source| FileError::Io {
            path: path.to_path_buf(),
            action: "write",
            source,
        })
    }

    pub fn read(path: impl AsRef<Path>) -> Result<TraceFile, FileError> {
        let path = path.as_ref();
        let io = |source: io::Error| match source.kind() {
            io::ErrorKind::NotFound => FileError::NotFound { path: path.to_path_buf() },
            _ => FileError::Io { path: path.to_path_buf(), action: "read", source },
        };
        let format = |problem| FileError::Format { path: path.to_path_buf(), problem };

        // Opening a pipe nobody writes to would wait for ever, and a device has no length.
        let metadata = fs::metadata(path).map_err(io)?;
        if !metadata.is_file() {
            return Err(io(io::Error::other("it is not a regular file")));
        }
        let file = File::open(path).map_err(io)?;
        let size = file.metadata().map_err(io)?.len();
        let mut start = Vec::with_capacity(HEADER_BYTES);
        (&file).take(HEADER_BYTES as u64).read_to_end(&mut start).map_err(io)?;
        let header = Header::parse(&start, size).map_err(format)?;
        let mut body = Vec::new();
        file.take(header.stored).read_to_end(&mut body).map_err(io)?;
        decode_body(&start, &header, &body).map_err(format)
    }
}

/// `start` is the complete header that `header` was parsed from.
fn decode_body(start: &[u8], header: &Header, body: &[u8]) -> Result<TraceFile, FormatError> {
    // The file may have shrunk since its length was asked for.
    if body.len() as u64 != header.stored {
        return Err(FormatError::Truncated {
            expected: header.stored.saturating_add(HEADER_BYTES as u64),
            actual: (body.len() + HEADER_BYTES) as u64,
        });
    }
    let actual = checksum(&start[MAGIC.len()..HEADER_BYTES - 4], body);
    if actual != header.checksum {
        return Err(FormatError::Corrupt { expected: header.checksum, actual });
    }
    let undecodable = |reason: String| FormatError::Undecodable { reason };
    let payload = miniz_oxide::inflate::decompress_to_vec_with_limit(body, header.payload as usize)
        .map_err(|_| undecodable("inflating fails".to_owned()))?;
    if payload.len() as u64 != header.payload {
        return Err(undecodable(format!(
            "{} bytes declared, {} found",
            header.payload,
            payload.len()
        )));
    }
    let trace: TraceFile = match header.version {
        FormatVersion(5) => whole::<version5::TraceFile>(&payload)?.into(),
        FormatVersion(6) => whole::<version6::TraceFile>(&payload)?.into(),
        FormatVersion(7) => whole::<version7::TraceFile>(&payload)?.into(),
        _ => whole(&payload)?,
    };
    trace.validate()?;
    Ok(trace)
}

/// The value that these bytes are, all of them.
fn whole<'b, T: Deserialize<'b>>(payload: &'b [u8]) -> Result<T, FormatError> {
    let undecodable = |reason: String| FormatError::Undecodable { reason };
    let (value, rest) = postcard::take_from_bytes(payload)
        .map_err(|e| undecodable(format!("decoding fails ({e})")))?;
    if !rest.is_empty() {
        return Err(undecodable(format!("{} bytes are left over", rest.len())));
    }
    Ok(value)
}

/// Puts `bytes` at `path` in one step: into a new file beside it, which then takes its name.
fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    // A device or pipe is written to; taking its name would destroy it.
    if fs::metadata(path).is_ok_and(|m| !m.is_file()) {
        return fs::write(path, bytes);
    }
    static WRITTEN: AtomicU32 = AtomicU32::new(0);
    let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?;
    let mut temporary = std::ffi::OsString::from(".");
    temporary.push(name);
    let serial = WRITTEN.fetch_add(1, Ordering::Relaxed);
    temporary.push(format!(".{}-{serial}.tmp", std::process::id()));
    let temporary = path.with_file_name(temporary);
    let written = File::create_new(&temporary)
        .and_then(|mut file| file.write_all(bytes))
        .and_then(|()| fs::rename(&temporary, path));
    if written.is_err() {
        // What went wrong first is what the user needs to know.
        let _ = fs::remove_file(&temporary);
    }
    written
}
