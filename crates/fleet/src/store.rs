//! The folder of a fleet: `logs/` with a file a log, named by its id, `aside/` with what was refused, by reason, and `seen`, the files
//! that were looked at. Only its owner reads it.

use std::collections::HashSet;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use thiserror::Error;
use unravel_coop::{Collection, CollectionError, Ending, Log, LogId, MOST_PASSING, Profile};

use crate::budgets::MOST_HELD;
use crate::schema::{SchemaError, read, write};

#[derive(Debug, Error)]
pub enum StoreError {
    #[error("{}: {source}", path.display())]
    Io { path: PathBuf, source: std::io::Error },
    #[error("{}: {source}", path.display())]
    Log { path: PathBuf, source: SchemaError },
    #[error(transparent)]
    Collection(#[from] CollectionError),
}

impl StoreError {
    pub(crate) fn at(path: &Path, source: std::io::Error) -> StoreError {
        StoreError::Io { path: path.to_owned(), source }
    }
}

/// Logs of a store, together.
#[derive(Clone, Debug)]
pub struct Collected {
    pub collection: Collection,
    /// What would have been too much: ascending.
    pub left_out: Vec<LogId>,
    /// How many logs are of other builds: a store may have been used for several.
    pub foreign: u64,
}

/// A store.
#[derive(Clone, Debug)]
pub struct Store {
    folder: PathBuf,
}

impl Store {
    /// The store in this folder, which is made if it is not there.
    pub fn open(folder: &Path) -> Result<Store, StoreError> {
        let store = Store { folder: folder.to_owned() };
        for each in [folder.to_owned(), store.logs(), folder.join("aside")] {
            make_folder(&each)?;
        }
        Ok(store)
    }

    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Where its logs are.
    pub fn logs(&self) -> PathBuf {
        self.folder.join("logs")
    }

    fn path_of(&self, id: LogId) -> PathBuf {
        self.logs().join(format!("{id}.parquet"))
    }

    /// The ids of its logs, ascending.
    pub fn ids(&self) -> Result<Vec<LogId>, StoreError> {
        let folder = self.logs();
        let entries = fs::read_dir(&folder).map_err(|source| StoreError::at(&folder, source))?;
        let mut ids = Vec::new();
        for entry in entries {
            let name = entry.map_err(|source| StoreError::at(&folder, source))?.file_name();
            let id = |name: &str| name.strip_suffix(".parquet")?.parse::<LogId>().ok();
            ids.extend(name.to_str().and_then(id));
        }
        ids.sort_unstable();
        Ok(ids)
    }

    /// Writes a log of our own into a folder.
    pub fn write(folder: &Path, log: &Log) -> Result<PathBuf, StoreError> {
        make_folder(folder)?;
        let path = folder.join(format!("{}.parquet", log.id));
        let unfinished = folder.join(format!(".{}.unfinished", log.id));
        let file = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(&unfinished)
            .map_err(|source| StoreError::at(&unfinished, source))?;
        write(log, file).map_err(|source| StoreError::Log { path: path.clone(), source })?;
        fs::rename(&unfinished, &path).map_err(|source| StoreError::at(&path, source))?;
        Ok(path)
    }

    /// What the analysis looks at: all logs that failed, and as many that passed as it wants, those with the smallest ids.
    ///
    /// A small file may say that a thread accessed an element millions of times, so what all logs say together is bounded: those that say the
    /// least come first, and what does not fit any more is left out and counted. A log that somebody made up costs no other its place unless
    /// there are thousands of them.
    pub fn collection(&self, profile: &Profile) -> Result<Collected, StoreError> {
        self.collection_within(profile, MOST_HELD)
    }

    /// The same, with so many accesses at most.
    pub fn collection_within(
        &self,
        profile: &Profile,
        most: usize,
    ) -> Result<Collected, StoreError> {
        let (mut wanted, mut passing, mut foreign) = (Vec::new(), 0, 0);
        for id in self.ids()? {
            let log = self.log(id)?;
            if log.build != profile.build() {
                foreign += 1;
                continue;
            }
            if log.ending == Ending::Passed {
                passing += 1;
                if passing > MOST_PASSING {
                    continue;
                }
            }
            wanted.push((log.threads().len(), log.accesses(), id));
        }
        wanted.sort_unstable();
        let mut collected =
            Collected { collection: Collection::new(profile.ids()), left_out: Vec::new(), foreign };
        let mut held = 0;
        for (_, accesses, id) in wanted {
            if held + accesses > most {
                collected.left_out.push(id);
                continue;
            }
            match collected.collection.add(&self.log(id)?) {
                Ok(()) => held += accesses,
                Err(CollectionError::TooManyThreads) => collected.left_out.push(id),
                Err(error) => return Err(error.into()),
            }
        }
        collected.left_out.sort_unstable();
        Ok(collected)
    }

    /// A log of the store.
    fn log(&self, id: LogId) -> Result<Log, StoreError> {
        let path = self.path_of(id);
        let file = File::open(&path).map_err(|source| StoreError::at(&path, source))?;
        read(file).map_err(|source| StoreError::Log { path, source })
    }

    pub(crate) fn scratch(&self) -> Result<tempfile::TempDir, StoreError> {
        let scratch = tempfile::Builder::new().prefix(".incoming-").tempdir_in(&self.folder);
        scratch.map_err(|source| StoreError::at(&self.folder, source))
    }

    pub(crate) fn take(&self, copy: &Path, id: LogId) -> Result<(), StoreError> {
        let path = self.path_of(id);
        fs::rename(copy, &path).map_err(|source| StoreError::at(&path, source))
    }

    pub(crate) fn set_aside(&self, copy: &Path, why: &str, name: &str) -> Result<(), StoreError> {
        let folder = self.folder.join("aside").join(why);
        make_folder(&folder)?;
        let path = folder.join(name);
        fs::rename(copy, &path).map_err(|source| StoreError::at(&path, source))
    }

    /// The files that were looked at.
    pub(crate) fn seen(&self) -> Result<HashSet<String>, StoreError> {
        let path = self.folder.join("seen");
        match fs::read_to_string(&path) {
            Ok(text) => Ok(text.lines().map(str::to_owned).collect()),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(HashSet::new()),
            Err(source) => Err(StoreError::at(&path, source)),
        }
    }

    pub(crate) fn remember(&self, mark: &str) -> Result<(), StoreError> {
        let path = self.folder.join("seen");
        let file = OpenOptions::new().append(true).create(true).mode(0o600).open(&path);
        let written = file.and_then(|mut file| file.write_all(format!("{mark}\n").as_bytes()));
        written.map_err(|source| StoreError::at(&path, source))
    }
}

fn make_folder(path: &Path) -> Result<(), StoreError> {
    let made = DirBuilder::new().recursive(true).mode(0o700).create(path);
    made.map_err(|source| StoreError::at(path, source))
}
