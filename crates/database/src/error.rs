//! What can go wrong with a database. Damaged records are not among it: they are counted ([`unravel_results::Damage`]).

use std::io;
use std::path::PathBuf;

use thiserror::Error;
use unravel_files::FormatError;
use unravel_trace::ThreadName;

#[derive(Debug, Error)]
pub enum DatabaseError {
    #[error("there is no trace database {}", path.display())]
    NotFound { path: PathBuf },
    #[error("cannot {action} {}: {source}", path.display())]
    Io { path: PathBuf, action: &'static str, source: io::Error },
    #[error("{} is not a trace database: it has no file 'format'", path.display())]
    NotADatabase { path: PathBuf },
    #[error(
        "{} is not empty and not a trace database: name a new directory for it", path.display()
    )]
    NotEmpty { path: PathBuf },
    #[error("the head of the trace database {} is damaged ({}): copy this file from another copy of it",
        path.display(), path.join("format").display())]
    DamagedHead { path: PathBuf },
    #[error(
        "the trace database {} was made by a newer unravel: it has format {found}, this program reads format \
         {supported}; update unravel to use it", path.display()
    )]
    NewerVersion { path: PathBuf, found: u32, supported: u32 },
    #[error(
        "the trace database {} was made by an older unravel: it has format {found}, this program reads only format \
         {supported}; record the runs again, into another directory", path.display()
    )]
    OlderVersion { path: PathBuf, found: u32, supported: u32 },
    #[error(
        "the trace database {} is of another program: {theirs} ({theirs_fingerprint:016x}), not {ours} \
         ({ours_fingerprint:016x}). Traces do not fit a program that has changed: record into another directory",
        path.display()
    )]
    OtherProgram {
        path: PathBuf,
        theirs: String,
        theirs_fingerprint: u64,
        ours: String,
        ours_fingerprint: u64,
    },
    #[error("the trace database {} was opened for reading only", path.display())]
    ReadOnly { path: PathBuf },
    #[error("the trace of a thread contradicts itself: {0}")]
    Inconsistent(#[from] FormatError),
    #[error("the run has two traces of {0}")]
    TwiceTheThread(ThreadName),
    #[error("the turns of the run are not those of its threads: {what}")]
    Turns { what: String },
    #[error("a record is too large for the trace database: {bytes} bytes, at most {most}")]
    TooLarge { bytes: usize, most: usize },
    #[error("the segments of {} keep vanishing: is somebody deleting them?", path.display())]
    Vanishing { path: PathBuf },
}
