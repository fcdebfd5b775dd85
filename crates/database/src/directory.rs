//! A database on disk: a directory with
//!
//! - `format`: magic, version ([`VERSION`]), and the program as one [`crate::frame`];
//! - `segments/*.seg`: what writers have seen, each in its own file ([`crate::segment`]).
//!
//! Any change to a stored type is a new version. Other versions are refused, not converted: runs are recorded again by a
//! command. The test `the_format_is_pinned` notices when that was forgotten.
//!
//! Readers trust no byte. What cannot be read is counted and passed over, because what is left is as useful without it.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::{fs, io};

use unravel_files::{ProgramRef, validate_schedule, validate_thread};
use unravel_results::Damage;

use crate::contents::{Contents, Incomplete};
use crate::error::DatabaseError;
use crate::frame::{Frames, Piece, frame};
use crate::id::{TraceId, WriterId, canonical, encode};
use crate::record::Record;
use crate::segment::{self, Found, failed};

const MAGIC: [u8; 8] = *b"\x89UTDB\r\n\n";

/// The version of everything that is stored here.
const VERSION: u32 = 4;

const FORMAT: &str = "format";

/// How often a reader begins again because a compaction took segments away.
const MOST_ATTEMPTS: usize = 100;

/// A directory that is a database of this version.
#[derive(Clone, Debug)]
pub(crate) struct Directory {
    pub path: PathBuf,
    pub program: ProgramRef,
}

/// Everything in some segments.
#[derive(Debug, Default)]
pub(crate) struct Gathered {
    pub contents: Contents,
    pub damage: Damage,
    /// Those that nobody writes to any more and that could be read.
    pub closed: Vec<PathBuf>,
    pub closed_bytes: u64,
    /// Segments that somebody still writes to.
    pub live: usize,
}

impl Directory {
    /// A database that must be there.
    pub fn existing(path: &Path) -> Result<Directory, DatabaseError> {
        let file = path.join(FORMAT);
        let bytes = match fs::read(&file) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(match path.exists() {
                    true => DatabaseError::NotADatabase { path: path.to_owned() },
                    false => DatabaseError::NotFound { path: path.to_owned() },
                });
            }
            read => read.map_err(failed(&file, "read"))?,
        };
        let damaged = || DatabaseError::DamagedHead { path: path.to_owned() };
        let rest = bytes.strip_prefix(&MAGIC).ok_or_else(damaged)?;
        let (version, rest) = rest.split_first_chunk::<4>().ok_or_else(damaged)?;
        let (found, supported) = (u32::from_le_bytes(*version), VERSION);
        let path = path.to_owned();
        if found > supported {
            return Err(DatabaseError::NewerVersion { path, found, supported });
        }
        if found < supported {
            return Err(DatabaseError::OlderVersion { path, found, supported });
        }
        let Some(Piece::Payload(payload)) = Frames::of(rest).next() else { return Err(damaged()) };
        let program = postcard::from_bytes(&payload).map_err(|_| damaged())?;
        Ok(Directory { path, program })
    }

    /// The database of this program; made if there is nothing yet.
    pub fn of(path: &Path, program: &ProgramRef) -> Result<Directory, DatabaseError> {
        if !path.join(FORMAT).exists() {
            create(path, program)?;
        }
        let directory = Directory::existing(path)?;
        directory.check(program)?;
        Ok(directory)
    }

    /// Refuses another program.
    pub fn check(&self, program: &ProgramRef) -> Result<(), DatabaseError> {
        if self.program.fingerprint == program.fingerprint {
            return Ok(());
        }
        Err(DatabaseError::OtherProgram {
            path: self.path.clone(),
            theirs: self.program.name.clone(),
            theirs_fingerprint: self.program.fingerprint,
            ours: program.name.clone(),
            ours_fingerprint: program.fingerprint,
        })
    }

    pub fn segments(&self) -> PathBuf {
        self.path.join("segments")
    }

    /// The segments that are complete enough to be read, by name.
    pub fn listed(&self) -> Result<Vec<PathBuf>, DatabaseError> {
        let directory = self.segments();
        let entries = match fs::read_dir(&directory) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries.map_err(failed(&directory, "read"))?,
        };
        let mut paths = Vec::new();
        for entry in entries {
            let path = entry.map_err(failed(&directory, "read"))?.path();
            if path.to_string_lossy().ends_with(segment::SUFFIX) {
                paths.push(path);
            }
        }
        paths.sort();
        Ok(paths)
    }

    /// Reads segments: all, or those that nobody writes to any more. A segment that vanishes meanwhile was compacted: what
    /// was in it is now in one that was not listed, so everything is read anew.
    pub fn gather(&self, closed_only: bool) -> Result<Gathered, DatabaseError> {
        'again: for _ in 0..MOST_ATTEMPTS {
            let mut gathered = Gathered::default();
            let mut runs = Runs::new();
            for path in self.listed()? {
                let Some(found) = segment::read(&path, self.program.fingerprint)? else {
                    continue 'again;
                };
                if found.live {
                    gathered.live += 1;
                } else if !found.unusable {
                    gathered.closed.push(path);
                    gathered.closed_bytes += found.bytes;
                }
                if !(closed_only && found.live) {
                    gathered.take(found, &mut runs);
                }
            }
            gathered.contents.add_gathered(runs);
            gathered.damage.records += gathered.contents.contradictory;
            return Ok(gathered);
        }
        Err(DatabaseError::Vanishing { path: self.path.clone() })
    }
}

type Runs = std::collections::BTreeMap<crate::id::RunId, Incomplete>;

impl Gathered {
    fn take(&mut self, found: Found, runs: &mut Runs) {
        self.damage.records += found.damaged;
        self.damage.torn += u64::from(found.torn);
        self.damage.segments += u64::from(found.unusable);
        for record in found.records {
            match record {
                Record::Trace { visible, trace } if validate_thread(&trace).is_ok() => {
                    let visible = Arc::new(canonical(&visible));
                    let id = TraceId::of(&visible, &trace);
                    self.contents.add_trace(id, &visible, &trace);
                }
                Record::Run { run, seen } if validate_schedule(&run.schedule).is_ok() => {
                    let id = run.id();
                    runs.entry(id).or_default().join(Incomplete { record: Some(*run), seen });
                }
                Record::Seen { run, by, count } => {
                    let seen = [(by, count)].into();
                    runs.entry(run).or_default().join(Incomplete { record: None, seen });
                }
                Record::Trace { .. } | Record::Run { .. } => self.damage.records += 1,
            }
        }
    }
}

/// Makes an empty database. If somebody else makes it at the same time, one of both comes to stand there.
fn create(path: &Path, program: &ProgramRef) -> Result<(), DatabaseError> {
    fs::create_dir_all(path).map_err(failed(path, "create"))?;
    for entry in fs::read_dir(path).map_err(failed(path, "read"))? {
        let name = entry.map_err(failed(path, "read"))?.file_name();
        if !name.to_string_lossy().starts_with(FORMAT) {
            return Err(DatabaseError::NotEmpty { path: path.to_owned() });
        }
    }
    let mut bytes = MAGIC.to_vec();
    bytes.extend(VERSION.to_le_bytes());
    bytes.extend(frame(&encode(program))?);
    let temporary = path.join(format!("{FORMAT}.{}{}", WriterId::unique(), segment::TEMPORARY));
    let file = path.join(FORMAT);
    let written = fs::write(&temporary, bytes)
        .and_then(|()| fs::File::open(&temporary)?.sync_all())
        // A link does not take the place of a file that is there, but not every file system has links.
        .and_then(|()| match fs::hard_link(&temporary, &file) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                fs::rename(&temporary, &file)
            }
            _ => fs::remove_file(&temporary),
        });
    written.map_err(failed(&file, "write"))
}
