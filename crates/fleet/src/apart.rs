//! Files of others are read in a process of its own, with bounded memory and time: whatever they do to the reader is their end, not ours.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::FromRawFd;
use std::path::PathBuf;

use unravel_coop::{ElementId, LogId};

use crate::budgets::{READER_BYTES, READER_FILES, READER_SECONDS};
use crate::ingest::Aside;
use crate::schema::{SchemaError, read};

/// Which logs are welcome.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Welcome<'a> {
    pub build: u64,
    /// Ascending.
    pub elements: &'a [ElementId],
}

/// Bytes of an answer: which file, what became of it, and the id of a log.
const ANSWER: usize = 4 + 1 + 16;

/// Reads each of these files: the id of a log that is welcome, or why it is none.
pub(crate) fn check(
    files: &[PathBuf],
    welcome: Welcome<'_>,
) -> std::io::Result<Vec<Result<LogId, Aside>>> {
    let mut answers: BTreeMap<usize, Result<LogId, Aside>> = BTreeMap::new();
    let mut next = 0;
    while next < files.len() {
        let end = (next + READER_FILES).min(files.len());
        let done = check_some(files, next..end, welcome)?;
        let reached = next + done.len();
        answers.extend((next..).zip(done));
        if reached < end {
            // The reader died of this one.
            answers.insert(reached, Err(Aside::Hostile));
            next = reached + 1;
        } else {
            next = end;
        }
    }
    Ok(answers.into_values().collect())
}

/// The answers of one reader, as far as it gets.
fn check_some(
    files: &[PathBuf],
    range: std::ops::Range<usize>,
    welcome: Welcome<'_>,
) -> std::io::Result<Vec<Result<LogId, Aside>>> {
    let mut ends = [0; 2];
    // SAFETY: two descriptors, which the pipe fills in.
    if unsafe { libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) } != 0 {
        return Err(std::io::Error::last_os_error());
    }
    // SAFETY: descriptors of our own, each owned once.
    let (mut receive, mut send) =
        unsafe { (File::from_raw_fd(ends[0]), File::from_raw_fd(ends[1])) };
    // SAFETY: the child does nothing but read files and write to the pipe, and leaves by `_exit`.
    let pid = unsafe { libc::fork() };
    match pid {
        -1 => return Err(std::io::Error::last_os_error()),
        0 => {
            confine();
            for at in range {
                let answer = File::open(&files[at]).map_err(SchemaError::from).and_then(read);
                let answer = answer.map_err(|error| Aside::of(&error)).and_then(|log| {
                    let known =
                        |(id, _): &(ElementId, _)| welcome.elements.binary_search(id).is_ok();
                    match log.build == welcome.build {
                        false => Err(Aside::ForeignBuild),
                        true if !log.vectors.iter().all(known) => Err(Aside::Hostile),
                        true => Ok(log.id),
                    }
                });
                let mut bytes = [0; ANSWER];
                bytes[..4].copy_from_slice(&(at as u32).to_le_bytes());
                match answer {
                    Ok(id) => bytes[5..].copy_from_slice(&id.0.to_le_bytes()),
                    Err(why) => bytes[4] = 1 + why as u8,
                }
                if send.write_all(&bytes).is_err() {
                    break;
                }
            }
            // SAFETY: ends this process without running what belongs to its parent.
            unsafe { libc::_exit(0) }
        }
        _ => {}
    }
    drop(send);
    let mut bytes = Vec::new();
    let received = receive.read_to_end(&mut bytes);
    let mut status = 0;
    // SAFETY: our own child.
    unsafe { libc::waitpid(pid, &mut status, 0) };
    received?;
    let answers = bytes.chunks_exact(ANSWER).map(|answer| match answer[4] {
        0 => Ok(LogId(u128::from_le_bytes(answer[5..].try_into().expect("sixteen bytes")))),
        why => Err(Aside::ALL[usize::from(why) - 1]),
    });
    Ok(answers.collect())
}

/// Bounds memory and time of this process, which is silent.
fn confine() {
    let limit = |what, most: u64| {
        let limit = libc::rlimit { rlim_cur: most, rlim_max: most };
        // SAFETY: a limit of this process, which only reads.
        unsafe { libc::setrlimit(what, &limit) };
    };
    limit(libc::RLIMIT_AS, READER_BYTES + mapped());
    limit(libc::RLIMIT_CPU, READER_SECONDS);
    limit(libc::RLIMIT_CORE, 0);
    limit(libc::RLIMIT_FSIZE, 0);
    // What a panic of the library says is of no use to anybody, and nothing of ours is to be unwound here.
    // SAFETY: ends this process without running what belongs to its parent.
    std::panic::set_hook(Box::new(|_| unsafe { libc::_exit(1) }));
}

/// Bytes that are mapped already, which a fork inherits.
fn mapped() -> u64 {
    let pages = std::fs::read_to_string("/proc/self/statm").ok();
    let pages = pages.and_then(|text| text.split(' ').next()?.parse::<u64>().ok());
    pages.unwrap_or(0) * 4096
}
